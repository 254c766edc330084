import { Type, type Static } from 'typebox'
import type { RunOptions } from '../inference/contract.ts'
import { answerQuestion } from './answer.ts'
import { sources, type AnswerServices } from './pipeline.ts'
import { AnswerResponseSchema, EvidenceSchema, type ChatQuestion } from './schema.ts'

const { id, title, text, source, score, rank } = EvidenceSchema.properties

export const EvidenceEventSchema = Type.Object(
  {
    evidence: Type.Array(Type.Object({ id, title, text, source, score, rank })),
    model: AnswerResponseSchema.properties.model,
    index: AnswerResponseSchema.properties.index,
  },
  { description: 'The passages, before they are read; the event `answer` says where and how each was.' },
)

export const TokenEventSchema = Type.Object(
  { text: Type.String() },
  { description: 'The next part of the answer: all of them joined are the answer.' },
)

/** What happens on the way to an answer, in this order: the passages, parts of the text, the whole answer. */
export const AnswerEventSchema = Type.Union(
  [
    Type.Object({ event: Type.Literal('evidence'), data: EvidenceEventSchema }),
    Type.Object({ event: Type.Literal('token'), data: TokenEventSchema }),
    Type.Object({ event: Type.Literal('answer'), data: AnswerResponseSchema }),
  ],
  { title: 'AnswerEvent' },
)
export type AnswerEvent = Static<typeof AnswerEventSchema>

/**
 * {@link answerQuestion} as it happens. Text that is not taken is put together, so that a slow taker holds one answer in
 * memory at most; who stops taking ends the answer.
 * @throws those of answerQuestion, where in the order of events they happen
 */
export async function* answerEvents(
  request: ChatQuestion,
  services: AnswerServices,
  run: RunOptions = {},
): AsyncGenerator<AnswerEvent, void, undefined> {
  const leaving = new AbortController()
  const signal = run.signal ? AbortSignal.any([run.signal, leaving.signal]) : leaving.signal
  let found: Static<typeof EvidenceEventSchema> | undefined
  let text = ''
  let isOver = false
  let wake = (): void => undefined
  const answered = answerQuestion(
    request,
    services,
    { ...run, signal },
    {
      passages: (asked) => {
        const evidence = asked.passages.map(({ id, title, text, source, score }, i) => ({
          ...{ id, title, text, score },
          ...(source !== undefined && { source }),
          rank: i + 1,
        }))
        found = { evidence, ...sources(services, asked) }
        wake()
      },
      text: (piece) => {
        text += piece
        wake()
      },
    },
  ).finally(() => {
    isOver = true
    wake()
  })
  // Whoever stops taking does not wait for it.
  answered.catch(() => undefined)
  try {
    for (;;) {
      if (found) {
        const data = found
        found = undefined
        yield { event: 'evidence', data }
      } else if (text !== '') {
        const data = { text }
        text = ''
        yield { event: 'token', data }
      } else if (isOver) break
      else await new Promise<void>((resolve) => (wake = resolve))
    }
    yield { event: 'answer', data: await answered }
  } finally {
    leaving.abort()
  }
}
