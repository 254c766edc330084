import type { FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { cited, titleOf } from '../../../rag/evidence.ts'
import type { AnswerResponse, Evidence } from '../../../rag/schema.ts'
import type { RouteContext } from '../context.ts'

/** Most cited passages: those that contain the answer, or, if none does, those with most attention. */
const MOST_CITED = { saying: 5, attended: 3 }

const offset = Type.Integer({ minimum: 0 })
export const CitationSchema = Type.Object({
  title: Type.String(),
  url: Type.String({
    description:
      "Absolute URL: the passage's http(s) source or `url` metadata, else its file if files are served, else this service's page that shows the passage.",
  }),
  start_index: offset,
  end_index: offset,
})

/** Citations in the format of chat completions. */
export const AnnotationsSchema = Type.Array(Type.Object({ type: Type.Literal('url_citation'), url_citation: CitationSchema }), {
  description: `Up to ${MOST_CITED.saying} passages that contain the answer, else the ${MOST_CITED.attended} with most attention. Offsets refer to the answer in \`content\`; the end is exclusive.`,
})

/** Returns an absolute address at which a passage, or its source, can be opened. */
export type AddressOf = (passage: Evidence) => string

/**
 * Returns the address of a passage for the sender of a request: its source if that is a web page, else its file, else the page of this
 * service that shows the passage with the answer marked.
 * @param filesOpen whether a browser can open files of passages: a link carries no key
 * @param collection of the passages, unless it is the default one
 */
export function passageAddress(
  request: FastifyRequest,
  { BASE_PATH: basePath, PUBLIC_URL: publicUrl }: Pick<RouteContext['config'], 'BASE_PATH' | 'PUBLIC_URL'>,
  filesOpen: boolean,
  collection?: string,
): AddressOf {
  const { protocol, host, socket } = request
  const own = publicUrl === '' ? `${protocol}://${host === '' ? `localhost:${socket.localPort}` : host}/` : publicUrl
  const base = new URL(own).pathname === '/' ? `${own.replace(/\/$/, '')}${basePath}` : own.replace(/\/$/, '')
  return (passage) => {
    const { id, file, highlights } = passage
    if (filesOpen && file !== undefined) return webAddress(passage) ?? `${base}${file.slice(basePath.length)}`
    const [first] = highlights
    const query = { passage: id, ...(first && { mark: `${first.start}-${first.end}` }), ...(collection !== undefined && { collection }) }
    return webAddress(passage) ?? `${base}/?${new URLSearchParams(query).toString()}`
  }
}

/** Citations of an answer, best first; empty without an answer. */
export function citationsOf(
  { answer, evidence, extract = null }: Pick<AnswerResponse, 'answer' | 'evidence'> & Partial<Pick<AnswerResponse, 'extract'>>,
  addressOf: AddressOf,
): Static<typeof CitationSchema>[] {
  // An empty answer in a JSON text is none either: it has an extract.
  if (answer === null || answer === '' || extract !== null) return []
  return cited(evidence, MOST_CITED).map((passage) => ({
    title: titleOf(passage),
    url: addressOf(passage),
    start_index: 0,
    end_index: answer.length,
  }))
}

/** The source of a passage, or the address in its metadata, if it is a web page. */
function webAddress({ source, metadata }: Evidence): string | undefined {
  const found = [source, metadata?.['url']].find((one) => typeof one === 'string' && /^https?:\/\/\S/i.test(one) && URL.canParse(one))
  return typeof found === 'string' ? found.replace(/\s/g, encodeURIComponent) : undefined
}
