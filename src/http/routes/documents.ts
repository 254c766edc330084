import multipart from '@fastify/multipart'
import type { Static } from 'typebox'
import type { FastifyRequest } from 'fastify'
import { CodedError, invalidField, invalidRequest } from '../../../base/errors.ts'
import { createSharedSlots } from '../../../base/fair-share.ts'
import type { ReadDocument } from '../../documents/schema.ts'
import type { DocumentFile } from '../../documents/type.ts'
import { plainDocument } from '../../documents/text.ts'
import type { RunOptions } from '../../inference/contract.ts'
import { answerDocument } from '../../rag/document.ts'
import { DocumentFormSchema, DocumentRequestSchema, DocumentResponseSchema, type DocumentForm } from '../../rag/document-schema.ts'
import { errorBody, errorSender } from '../errors/describe-error.ts'
import { errorResponses } from '../errors/error-body.ts'
import type { Routes } from './context.ts'
import { runOptions } from '../request/run-options.ts'
import { parseJson, repeatedName, TWICE } from '../../../base/json.ts'
import { checked } from '../errors/describe-validation.ts'
import { documentedForm, fileProblem, partTypes, partsOf } from '../request/upload-parts.ts'

const formOf = checked(DocumentFormSchema, 'form')

/** Limits of a form; its file has one of its own. */
const FORM_LIMITS = { files: 1, fields: 30, fieldSize: 32_768, headerPairs: 100 } as const

/** Reads a form with one file and fields as texts; sampling is JSON. @throws invalid_request, payload_too_large naming the field */
async function readDocumentForm(request: FastifyRequest, maxBytes: number): Promise<{ file: DocumentFile; form: DocumentForm }> {
  let file: DocumentFile | undefined
  let problem: CodedError | undefined
  const fields: Record<string, unknown> = {}
  const typeOf = partTypes(request)
  // Reads to the end even after an error: an unread body keeps its connection open.
  for await (const part of partsOf(request)) {
    if (part.type === 'file') {
      const { bytes, size } = await wholeFile(part.file, maxBytes)
      if (size > maxBytes) problem ??= tooLarge('file', `has ${size} bytes; ${maxBytes} are read at most (CEPE_DOCUMENT_MB)`)
      problem ??= fileProblem(part)
      file = { bytes, name: part.filename, mediaType: typeOf(0) || part.mimetype }
    } else if (part.valueTruncated === true) problem ??= tooLarge(part.fieldname, `is longer than ${FORM_LIMITS.fieldSize} bytes`)
    // What the parser puts in the place of bytes that are not UTF-8.
    else if (String(part.value).includes('\ufffd')) problem ??= invalidField(part.fieldname, 'is not UTF-8: send it in that encoding')
    else if (Object.hasOwn(fields, part.fieldname)) problem ??= invalidField(part.fieldname, TWICE)
    else {
      const value = (fields[part.fieldname] = valueOf(part.fieldname, String(part.value)))
      const twice = typeof value === 'object' ? repeatedName(String(part.value)) : undefined
      if (twice !== undefined) problem ??= invalidField(`${part.fieldname}.${twice}`, TWICE)
    }
  }
  if (problem) throw problem
  if (file === undefined) throw invalidRequest('file', 'The form holds no file: send the document as its one file.')
  return { file, form: formOf(fields) }
}

/** Converts a field for its schema; an invalid one stays a text, which the schema rejects. */
function valueOf(name: string, text: string): unknown {
  const schema = (DocumentFormSchema.properties as Readonly<Record<string, object>>)[name]
  const type = schema !== undefined && 'type' in schema ? schema.type : undefined
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  if (type === 'integer') return /^\d+$/.test(text) ? Number(text) : text
  return type === 'object' ? (parseJson(text) ?? text) : text
}

function tooLarge(field: string, problem: string): CodedError {
  return new CodedError('payload_too_large', `${field} ${problem}.`, { field })
}

/** A file's bytes, or none if it is too large; and its size. */
async function wholeFile(file: AsyncIterable<Buffer>, maxBytes: number): Promise<{ bytes: Buffer; size: number }> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of file) {
    size += chunk.length
    if (size <= maxBytes) chunks.push(chunk)
    else chunks.length = 0
  }
  return { bytes: Buffer.concat(chunks), size }
}

/** Maximum files of one client received or processed concurrently, each in memory. Several clients together may have twice as many. */
const MOST_FILES = 16

const FILE = 'The document: text, Markdown, HTML, PDF, DOCX, XLSX, PPTX, ODT, EPUB, e-mail or another supported format.'
const DOCUMENTED_BODY = { content: documentedForm(FILE, DocumentFormSchema.properties) }

/** POST /v1/documents/answer: answers a question from a document, with evidence from it. */
export const documentsRoutes: Routes = async (app, { services: { documents }, config }) => {
  const { services, parser } = documents
  await app.register(multipart, { limits: { ...FORM_LIMITS, fileSize: Infinity } })
  // The document is `file` in a form, and `text` in JSON.
  const fieldOf = (field: string | undefined, request: FastifyRequest) =>
    field === 'file' || field === 'text' ? (request.isMultipart() ? 'file' : 'text') : field
  app.setErrorHandler(errorSender((described, request) => errorBody({ ...described, field: fieldOf(described.field, request) }, request)))
  const slots = createSharedSlots(MOST_FILES)
  const schema = {
    tags: ['questions'],
    operationId: 'answerDocument',
    summary: 'Answer a question from a document, or summarise it',
    description:
      'The document is the file of a multipart form, or `text` in JSON. Its end goes into the decoder prompt; the encoder reads chunks of the rest in parallel.',
    body: { content: { 'application/json': { schema: DocumentRequestSchema } } },
    response: { 200: DocumentResponseSchema, ...errorResponses(422, 504) },
  }
  app.post(
    '/v1/documents/answer',
    { config: { upload: 'document', accepts: ['application/json', 'multipart/form-data'], documentedBody: DOCUMENTED_BODY }, schema },
    async (request, reply) => {
      const run = runOptions(request, reply, config.DEADLINE_MS)
      const giveBack = slots.take(run.client ?? '')
      if (giveBack === undefined)
        throw new CodedError('overloaded', `${slots.taken} documents are being received or read already. Try again later.`)
      try {
        if (request.isMultipart()) {
          const { form, file } = await readDocumentForm(request, config.DOCUMENT_MB * 2 ** 20)
          const { bytes, name } = file
          return await answerDocument({ form, bytes: bytes.length, name, load: (left) => parser.read(file, left) }, services, run)
        }
        if (request.body === undefined || request.body === null)
          throw invalidRequest('body', 'The body is empty: send a form with the document as its file, or JSON with text.')
        const { text: given, type = 'text', ...form } = request.body as Static<typeof DocumentRequestSchema>
        // As in files: other forms of letters are other tokens.
        const text = given.replace(/^\ufeff/, '').normalize()
        const load = async (left: RunOptions): Promise<ReadDocument> =>
          type === 'text' ? plainDocument(text) : parser.read({ bytes: Buffer.from(text), mediaType: `text/${type}; charset=utf-8` }, left)
        return await answerDocument({ form, bytes: text.length, load }, services, run)
      } finally {
        giveBack()
      }
    },
  )
}
