import path from 'node:path'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { at as elementAt } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'
import { ProblemLog } from '../../datasets/problems.ts'
import { fileHash, readRecords } from '../../datasets/records.ts'
import type { Problem } from '../../datasets/question-set.ts'
import type { NamedFile } from '../../task/contract.ts'
import type { NeedleItem } from '../documents/needle.ts'
import { VICUNA } from '../documents/generate.ts'
import { PLACES } from './generate.ts'

/** A row of Giraffe's WikiQA: the prompt, document and question together, and the answer. */
const isRow = Compile(Type.Object({ conversations: Type.Array(Type.Object({ value: Type.String() }), { minItems: 2 }) }))

/** Rows of one question: three places of the answer, each with the question at the end (even rows) and at the start (odd ones). */
const ROWS = 6

export interface ConversationsFile {
  readonly items: readonly NeedleItem[]
  readonly files: readonly NamedFile[]
  readonly problems: readonly Problem[]
}

/**
 * Reads the `conversations` records of Giraffe's WikiQA, the rows of the first `most` questions. Answer and question places are
 * told by the row's position, as in Giraffe's own evaluation.
 * @throws dataset_invalid
 */
export async function readConversations(file: string, most: number): Promise<ConversationsFile> {
  const problems = new ProblemLog()
  const items: NeedleItem[] = []
  let row = 0
  for await (const { at, value } of readRecords(file)) {
    const position = row++
    if (position >= most * ROWS) break
    if (isRow.Check(value)) items.push(toItem(elementAt(value.conversations, 0).value, elementAt(value.conversations, 1).value, position))
    else problems.add('no conversations with a prompt and an answer', at)
  }
  if (items.length === 0)
    throw new CodedError(
      'dataset_invalid',
      `${file} has nothing to ask: wanted are Giraffe's {"conversations": [{"value"}, {"value"}]} records.`,
    )
  return { items, files: [{ file: path.basename(file), sha256: await fileHash(file) }], problems: problems.list() }
}

function toItem(prompt: string, answer: string, position: number): NeedleItem {
  const question = `question ${Math.floor(position / ROWS) + 1}`
  const place = elementAt(PLACES, Math.floor((position % ROWS) / 2))
  const atEnd = position % 2 === 0
  // The last line is the question, which the decoder always reads whole.
  const cut = atEnd ? prompt.trimEnd().lastIndexOf('\n') + 1 : prompt.length
  return {
    id: `${question}, answer ${place}, question at the ${atEnd ? 'end' : 'start'}`,
    cluster: question,
    groups: { answer_place: place, question_place: atEnd ? 'end' : 'start' },
    document: VICUNA.before + prompt.slice(0, cut),
    question: prompt.slice(cut) + VICUNA.after,
    expected: answer.trim(),
  }
}
