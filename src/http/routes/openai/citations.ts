import type { FastifyRequest } from 'fastify'
import { Type, type Static } from '#typebox'
import type { AnswerResponse, Evidence } from '../../../rag/schema.ts'

/** Maximum cited passages that contain the answer. */
const MOST_CITED = 5
/** Cited passages if none contains the answer: those with most attention. */
const MOST_ATTENDED = 3

const offset = Type.Integer({ minimum: 0 })
export const CitationSchema = Type.Object({
  title: Type.String(),
  url: Type.String({ description: "The passage's source, an address in its metadata (`url`), or else of the passage itself." }),
  start_index: offset,
  end_index: offset,
})
export type Citation = Static<typeof CitationSchema>

/** Citations in the format of chat completions. */
export const AnnotationsSchema = Type.Array(Type.Object({ type: Type.Literal('url_citation'), url_citation: CitationSchema }), {
  description: `Passages that say the answer, at most ${MOST_CITED}; where none does, the ${MOST_ATTENDED} with most attention. Indexes are of the answer in \`content\`; the end is exclusive.`,
})
export type Annotations = Static<typeof AnnotationsSchema>

/** Returns the URL of a passage at this service. */
export type AddressOf = (id: string) => string

/**
 * Returns a function that maps a passage's id to its URL at this service, as seen by the sender of a request.
 * @param basePath path under which a proxy serves the API
 * @param collection collection of the passages, unless it is the default one
 */
export function passageAddress({ protocol, host }: FastifyRequest, basePath: string, collection?: string): AddressOf {
  const named = collection === undefined ? '' : `?collection=${collection}`
  return (id) => `${protocol}://${host}${basePath}/v1/passages/${encodeURIComponent(id)}${named}`
}

/** Citations of an answer, best first; empty without an answer. */
export function citationsOf(
  { answer, evidence, extract = null }: Pick<AnswerResponse, 'answer' | 'evidence'> & Partial<Pick<AnswerResponse, 'extract'>>,
  addressOf: AddressOf,
): Citation[] {
  // An empty answer in a JSON text is none either: it has an extract.
  if (answer === null || answer === '' || extract !== null) return []
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

/** Prefers a URL that people can open; otherwise the source, such as a file name. */
function urlOf({ source, metadata }: Evidence): string | undefined {
  const { url } = metadata ?? {}
  const addresses = [source, url].filter((one) => typeof one === 'string' && /^https?:\/\//i.test(one))
  const [first] = addresses
  if (typeof first === 'string') return first
  return source === '' ? undefined : source
}
