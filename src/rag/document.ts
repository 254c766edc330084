import { sum } from '../../base/at.ts'
import { modelId } from '../../models/manifest.ts'
import type { Admission, AnswerReadResult, DocumentReader, DocumentReadResult, RunOptions } from '../inference/contract.ts'
import { sureness } from '../inference/confidence.ts'
import { reportRead } from '../inference/observed-reader.ts'
import type { DocumentChunk } from '../text/document/request.ts'
import type { DocumentEvidence, DocumentForm, DocumentResponse } from './document-schema.ts'
import { highlights } from './evidence.ts'
import { withAdmission, BASE_COST } from './admission.ts'
import { resolveDocument, type DocumentDefaults, type LoadedDocument } from './resolve-document.ts'
import { roundedMs } from './retrieve.ts'

export interface DocumentServices extends DocumentDefaults {
  readonly reader: DocumentReader
  readonly admission: Admission
}

interface DocumentAsked {
  readonly form: DocumentForm
  /** Bytes of the file, for a first estimate of the work. */
  readonly bytes: number
  /** File name; without its ending, the title of a document that declares none. */
  readonly name?: string | undefined
  /** Extracts the text of the file, after admission. */
  readonly load: (run: RunOptions) => Promise<LoadedDocument>
}

const DEFAULT_EVIDENCE = 5
const BYTES_PER_TOKEN = 4
const ENDING = /\.[^./\\]+$/

/**
 * Answers a question about a document, or summarises it: its end is in the decoder's prompt, the encoder reads the rest in chunks; a model that
 * reads passages one at a time takes the chunks that fit the question best.
 * @throws overloaded if the request is not admitted; deadline_exceeded; errors of `load`; invalid_request and unprocessable naming the
 * field; payload_too_large for a document of too many tokens
 */
export async function answerDocument(
  { form, bytes, name = '', load }: DocumentAsked,
  services: DocumentServices,
  run: RunOptions = {},
): Promise<DocumentResponse> {
  const started = performance.now()
  const { reader, admission, documentTokens } = services
  const cost =
    BASE_COST +
    Math.min(documentTokens, Math.ceil(bytes / BYTES_PER_TOKEN)) +
    (form.max_new_tokens ?? reader.manifest.qa_defaults.max_new_tokens)
  return withAdmission(admission, { kind: 'document', cost }, run, async (left) => {
    const parsed = await load(left())
    const document = { ...parsed, title: (form.title ?? (parsed.title || name.replace(ENDING, ''))).normalize() }
    const loaded = performance.now() - started
    run.observe?.stage('parse', started, loaded)
    const resolved = resolveDocument(form, document, reader.manifest, services)
    const read: DocumentReadResult & Partial<Pick<AnswerReadResult, 'contextTokenCounts'>> = await reader.document(resolved, left())
    // With the best chunks, parts of them may go through the encoder, too.
    const contextTokens = sum(read.contextTokenCounts ?? read.chunks.map(({ tokens }) => tokens))
    if (run.observe) reportRead(run.observe, { ...read, contextTokens, asked: resolved, model: modelId(reader.manifest) })
    const total = performance.now() - started
    const seen = [...read.chunks, ...read.inDecoder.filter((chunk) => !isOf(read.chunks, chunk))].map(({ start, end }) => end - start)
    return {
      answer: read.text,
      confidence: sureness(read),
      finish_reason: read.stopped ? 'stop' : 'length',
      document: {
        title: document.title,
        type: document.type,
        characters: document.text.length,
        tokens: read.documentTokens,
        pages: document.pages.length === 0 ? null : document.pages.length,
        chunks: read.chunks.length,
        warnings: [...document.warnings],
        unread: Math.max(0, resolved.to - resolved.from - sum(seen)),
        ...(form.include_text === true && { text: document.text }),
      },
      evidence: evidenceOf(document, read, form.evidence ?? DEFAULT_EVIDENCE, resolved.stopAtLineEnd ? read.text : ''),
      usage: { prompt_tokens: read.promptTokens, context_tokens: contextTokens, generated_tokens: read.logprobs.length },
      timings_ms: roundedMs({ read: loaded, ...read.timingsMs, total }),
      model: { reader: modelId(reader.manifest) },
      ...(form.include_prompts === true && { prompts: [...read.prompts], contexts: [...read.contexts] }),
    }
  })
}

function isOf(chunks: readonly DocumentChunk[], { start }: DocumentChunk): boolean {
  return chunks.some((chunk) => chunk.start === start)
}

/** The encoder's chunks with most attention, then what else stood in prompts. */
function evidenceOf(
  { text, pages }: LoadedDocument,
  { chunks, contextShares, inDecoder }: DocumentReadResult,
  count: number,
  answer: string,
) {
  const order = chunks.map((chunk, i) => ({ chunk, share: contextShares.at(i) ?? null })).sort((a, b) => (b.share ?? 0) - (a.share ?? 0))
  const described = (chunk: DocumentChunk, attention: number | null): Omit<DocumentEvidence, 'rank'> => {
    const { start, end, tokens } = chunk
    const own = text.slice(start, end)
    const moved = (span: { readonly start: number; readonly end: number }) => ({ start: span.start + start, end: span.end + start })
    return {
      start,
      end,
      text: own,
      pages: pagesOf(pages, chunk),
      role: !isOf(chunks, chunk) ? 'decoder' : isOf(inDecoder, chunk) ? 'both' : 'encoder',
      attention,
      tokens,
      highlights: highlights(own, answer).map((found) => ({ ...moved(found), sentence: moved(found.sentence) })),
    }
  }
  const encoded = order.slice(0, count).map(({ chunk, share }) => described(chunk, share))
  const others = inDecoder.filter(({ start }) => !encoded.some((shown) => shown.start === start))
  return [...encoded, ...others.map((chunk) => described(chunk, null))].map((entry, i) => ({ ...entry, rank: i + 1 }))
}

function pagesOf(pages: readonly number[], { start, end }: DocumentChunk): DocumentEvidence['pages'] {
  if (pages.length === 0) return null
  const page = (character: number): number => Math.max(1, pages.filter((begin) => begin <= character).length)
  return { first: page(start), last: page(Math.max(start, end - 1)) }
}
