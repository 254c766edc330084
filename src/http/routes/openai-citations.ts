import { Type, type Static } from 'typebox'
import type { AnswerResponse, Evidence } from '../../rag/schema.ts'

/** Citations of an answer: more would be a list of what was searched, not of what says it. */
const MOST_CITED = 5
/** Those of an answer that no passage says in its words: where the reader looked most. */
const MOST_ATTENDED = 3

const offset = Type.Integer({ minimum: 0 })
export const CitationSchema = Type.Object({
  title: Type.String(),
  url: Type.String({ description: "The passage's source, an address in its metadata (`url`), or else of the passage itself." }),
  start_index: offset,
  end_index: offset,
})
export type Citation = Static<typeof CitationSchema>

/** As chat completions carry them. */
export const AnnotationsSchema = Type.Array(Type.Object({ type: Type.Literal('url_citation'), url_citation: CitationSchema }), {
  description: `Passages that say the answer, at most ${MOST_CITED}; where none does, the ${MOST_ATTENDED} with most attention. Indexes are of the answer in \`content\`; the end is exclusive.`,
})
export type Annotations = Static<typeof AnnotationsSchema>

/** The address of a passage at this service. */
export type AddressOf = (id: string) => string

/** What an answer is to be checked against, best first; nothing where there is no answer. */
export function citationsOf({ answer, evidence }: Pick<AnswerResponse, 'answer' | 'evidence'>, addressOf: AddressOf): Citation[] {
  if (answer === null || answer === '') return []
  return cited(evidence).map((passage) => ({
    title: passage.title === '' ? passage.id : passage.title,
    url: urlOf(passage) ?? addressOf(passage.id),
    start_index: 0,
    end_index: answer.length,
  }))
}

export function annotationsOf(response: Pick<AnswerResponse, 'answer' | 'evidence'>, addressOf: AddressOf): Annotations {
  return citationsOf(response, addressOf).map((citation) => ({ type: 'url_citation' as const, url_citation: citation }))
}

function cited(evidence: readonly Evidence[]): readonly Evidence[] {
  const read = evidence.filter(({ role }) => role !== 'unused')
  const saying = read.filter(({ highlights }) => highlights.length > 0)
  if (saying.length > 0) return saying.slice(0, MOST_CITED)
  return [...read].sort((a, b) => (b.attention ?? 0) - (a.attention ?? 0)).slice(0, MOST_ATTENDED)
}

/** An address that people can open comes first; a file's name still says where to look. */
function urlOf({ source, metadata }: Evidence): string | undefined {
  const { url } = metadata ?? {}
  const addresses = [source, url].filter((one) => typeof one === 'string' && /^https?:\/\//i.test(one))
  const [first] = addresses
  if (typeof first === 'string') return first
  return source === '' ? undefined : source
}
