import { setImmediate } from 'node:timers/promises'
import { Type, type Static } from '#typebox'
import { CodedError } from '../../../../base/errors.ts'
import { passageText, type Passage } from '../../../../index/contract.ts'
import type { PassageIndex } from '../../../../index/open.ts'
import { splitDocument } from '../../../../index/read/split.ts'
import { MOST_PASSAGES, type PassagesOptions } from './passages.ts'

/** Fields of the response about truncated passages. */
export const TruncationFields = {
  truncated_tokens: Type.Integer({
    description:
      "Tokens (the retriever's) past what retriever and reader read of each passage, of all together: they are stored, but only a search by words finds them.",
  }),
  truncated: Type.Optional(
    Type.Array(Type.Object({ id: Type.String(), tokens: Type.Integer() }), { description: 'The passages that have such tokens.' }),
  ),
}
const _TruncationSchema = Type.Object(TruncationFields)
type Truncation = Static<typeof _TruncationSchema>

/** A valid passage of the request and the passages to store: itself or its parts. */
export interface Accepted {
  readonly id: string
  readonly passages: readonly Passage[]
  readonly isSplit: boolean
}
/** Accepts a passage, split into parts if requested. */
export function accept(passage: Passage, isSplit: boolean): Accepted {
  const passages = isSplit ? Array.from(splitDocument(passage), (part) => part.passage) : [passage]
  return { id: passage.id, passages, isSplit }
}

/** @throws invalid_request if there are more parts than a request may change */
export function partsOf(items: readonly Accepted[]): Passage[] {
  const passages = items.flatMap((item) => item.passages)
  if (passages.length > MOST_PASSAGES)
    throw new CodedError(
      'invalid_request',
      `split makes ${passages.length} passages; a request changes ${MOST_PASSAGES} at most: send fewer documents at once, or import a file.`,
      { field: 'split' },
    )
  return passages
}

/** Removes leftovers of a longer earlier version of a document: parts with higher numbers. */
export async function removeTails(items: readonly Accepted[], index: PassageIndex): Promise<void> {
  const tails: string[] = []
  for (const item of items) {
    if (!item.isSplit) continue
    for (let number = item.passages.length + 1; ; number++) {
      const id = `${item.id}#${number}`
      if ((await index.get(id)) === undefined) break
      tails.push(id)
    }
  }
  if (tails.length > 0) await index.delete(tails)
}

/** Counts truncated passages, yielding to other requests: counting takes up to some milliseconds per passage. */
export async function truncation(
  passages: readonly Passage[],
  index: PassageIndex,
  unreadTokens: PassagesOptions['unreadTokens'],
): Promise<Truncation> {
  const { id: model } = await index.writtenWith()
  const truncated: { id: string; tokens: number }[] = []
  for (const passage of passages) {
    const tokens = unreadTokens(passageText(passage), model)
    if (tokens > 0) truncated.push({ id: passage.id, tokens })
    await setImmediate()
  }
  const all = truncated.reduce((sum, { tokens }) => sum + tokens, 0)
  return { truncated_tokens: all, ...(all > 0 && { truncated }) }
}
