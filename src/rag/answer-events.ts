import { Type, type Static } from 'typebox'
import { cancelledBy, type RunOptions } from '../inference/contract.ts'
import { answerQuestion } from './answer.ts'
import { sources, type AnswerServices } from './pipeline.ts'
import { AnswerResponseSchema, EvidenceSchema, type ChatQuestion } from './schema.ts'

const { id, title, text, source, score, rank } = EvidenceSchema.properties

const EvidenceEventSchema = Type.Object(
  {
    question: AnswerResponseSchema.properties.question,
    evidence: Type.Array(Type.Object({ id, title, text, source, score, rank }, { title: 'FoundPassage' })),
    model: AnswerResponseSchema.properties.model,
    index: AnswerResponseSchema.properties.index,
  },
  { title: 'EvidenceEvent', description: 'The retrieved passages, before they are read; the event `answer` contains where each was read.' },
)

const TokenEventSchema = Type.Object(
  { text: Type.String() },
  { title: 'TokenEvent', description: 'Next part of the answer; the concatenated parts are the answer.' },
)

/** Events of an answer in order: the passages, parts of the text, the complete answer. */
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
 * {@link answerQuestion} as a stream of events. Text parts are merged while the consumer is slow, so that memory is bounded by one answer;
 * ending the iteration cancels the answer.
 * @throws those of answerQuestion, in the order of events
 */
export async function* answerEvents(
  request: ChatQuestion,
  services: AnswerServices,
  run: RunOptions = {},
): AsyncGenerator<AnswerEvent, void, undefined> {
  const leaving = new AbortController()
  let found: Static<typeof EvidenceEventSchema> | undefined
  let text = ''
  let isOver = false
  let wake = (): void => undefined
  const answered = answerQuestion(request, services, cancelledBy(leaving.signal, run), {
    passages: (asked) => {
      const evidence = asked.passages.map(({ id, title, text, source, score }, i) => ({
        id,
        title,
        text,
        score,
        ...(source !== undefined && { source }),
        rank: i + 1,
      }))
      found = { question: asked.resolved.question, evidence, ...sources(services, asked) }
      wake()
    },
    text: (piece) => {
      text += piece
      wake()
    },
  }).finally(() => {
    isOver = true
    wake()
  })
  // The consumer has stopped and does not wait for it.
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
