import { Type, type Static } from '#typebox'
import { answerQuestion } from '../../rag/answer.ts'
import { AnswerRequestSchema, AnswerResponseSchema, EvidenceSchema, type Evidence } from '../../rag/schema.ts'
import { noAnswerText } from '../../rag/no-answer/words.ts'
import type { Tool } from '../contract.ts'
import { collectionField, heading, sourceField } from './fields.ts'

/** Maximum passages in the text of an answer. */
const MOST_SHOWN = 5
/** Maximum characters of a passage that does not contain the answer. */
const QUOTE_CHARACTERS = 300

const { question, k } = AnswerRequestSchema.properties
const InputSchema = Type.Object({ question, k, source: sourceField, collection: collectionField }, { additionalProperties: false })

const { answer, abstained, reason, extract, suggestion, confidence, probability_correct } = AnswerResponseSchema.properties
const { id, title, source, rank } = EvidenceSchema.properties
const ShownSchema = Type.Object({
  id,
  title,
  source,
  rank,
  quote: Type.String({ description: 'Sentence that contains the answer, else the beginning of the passage.' }),
  says_answer: Type.Boolean({ description: 'Whether the passage contains the answer.' }),
})
const OutputSchema = Type.Object({
  answer,
  abstained,
  reason,
  extract,
  suggestion,
  confidence,
  probability_correct,
  evidence: Type.Array(ShownSchema, {
    description: `At most ${MOST_SHOWN} passages: those that contain the answer, else those with most attention. get_passage returns the whole text.`,
  }),
})

/** Answers a question with supporting sentences. */
export const answerTool: Tool<typeof InputSchema, typeof OutputSchema> = {
  name: 'answer',
  title: 'Answer from the corpus',
  description:
    'Answer one factual question from the corpus. Returns a short answer, its probability of being right if known, and supporting passages. Ask a complete question: the conversation is not seen.',
  input: InputSchema,
  output: OutputSchema,
  call: async ({ question, k, source }, { answering }, run) => {
    const request = { question, ...(k !== undefined && { k }), ...(source !== undefined && { filter: { source } }) }
    const response = await answerQuestion(request, answering, run)
    const { answer, abstained, reason, extract, suggestion, confidence, probability_correct, evidence } = response
    const told = { answer, abstained, reason, extract, confidence, probability_correct, evidence: shown(evidence) }
    return { ...told, ...(suggestion !== undefined && { suggestion }) }
  },
  text: (output) =>
    [said(output), ...output.evidence.map((passage) => `[${passage.rank}] ${heading(passage)}\n${passage.quote}`)].join('\n\n'),
}

function shown(evidence: readonly Evidence[]): Static<typeof ShownSchema>[] {
  const saying = evidence.filter(({ highlights }) => highlights.length > 0)
  const chosen = saying.length > 0 ? saying : [...evidence].sort((a, b) => (b.attention ?? 0) - (a.attention ?? 0))
  return chosen.slice(0, MOST_SHOWN).map(({ id, title, source, rank, text, highlights }) => {
    const [first] = highlights
    return {
      id,
      title,
      ...(source !== undefined && { source }),
      rank,
      quote: first === undefined ? text.slice(0, QUOTE_CHARACTERS) : text.slice(first.sentence.start, first.sentence.end),
      says_answer: first !== undefined,
    }
  })
}

function said(output: Static<typeof OutputSchema>): string {
  const { answer, confidence, probability_correct: probability } = output
  const sure =
    probability === null ? `confidence ${confidence.toFixed(2)}, not calibrated` : `${Math.round(100 * probability)} % likely right`
  return noAnswerText(output) ?? `${answer} (${sure})`
}
