import multipart from '@fastify/multipart'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '#typebox'
import { CodedError } from '../../../base/errors.ts'
import { createSharedSlots } from '../../../base/fair-share.ts'
import type { DocumentParser } from '../../documents/contract.ts'
import type { ReadDocument } from '../../documents/schema.ts'
import { plainDocument } from '../../documents/text.ts'
import type { RunOptions } from '../../inference/contract.ts'
import { answerDocument, type DocumentServices } from '../../rag/document.ts'
import {
  DocumentFormSchema,
  DocumentRequestSchema,
  DocumentResponseSchema,
  type DocumentForm,
  type DocumentResponse,
} from '../../rag/document-schema.ts'
import { FORM_LIMITS, readDocumentForm } from '../request/documents-form.ts'
import { bodyErrorResponses } from '../errors/error-body.ts'
import { runOptions } from '../request/run-options.ts'

export interface DocumentRouteOptions {
  readonly services: DocumentServices
  readonly parser: DocumentParser
  /** Time limit in milliseconds, including parsing the file and queueing. */
  readonly deadlineMs: number
  readonly maxFileBytes: number
}

/** Maximum files of one client received or processed concurrently, each in memory. Several clients together may have twice as many. */
const MOST_FILES = 16
const RETRY_AFTER_S = 5
const ENDING = /\.[^./\\]+$/

const DOCUMENTED_BODY = {
  content: {
    'multipart/form-data': {
      schema: {
        type: 'object',
        properties: {
          file: {
            type: 'string',
            format: 'binary',
            description: 'The document: text, Markdown, HTML, PDF, DOCX, XLSX, PPTX, ODT, EPUB, e-mail or another kind that is indexed.',
          },
          ...DocumentFormSchema.properties,
        },
        required: ['file'],
      },
    },
  },
}

type Load = (run: RunOptions) => Promise<ReadDocument>

/** Sets the title of a document: the form's, else its own, else the file's name. */
function titled({ title }: DocumentForm, load: Load, name = ''): Load {
  return async (run) => {
    const document = await load(run)
    return { ...document, title: title ?? (document.title || name.replace(ENDING, '')) }
  }
}

/** POST /v1/documents/answer: answers a question from a document, with evidence from it. */
export const documentsRoutes: FastifyPluginAsyncTypebox<DocumentRouteOptions> = async (
  app,
  { services, parser, deadlineMs, maxFileBytes },
) => {
  await app.register(multipart, { limits: { ...FORM_LIMITS, fileSize: Infinity } })
  const slots = createSharedSlots(MOST_FILES)
  app.post(
    '/v1/documents/answer',
    {
      config: { upload: 'document', accepts: ['application/json', 'multipart/form-data'], documentedBody: DOCUMENTED_BODY },
      schema: {
        tags: ['questions'],
        operationId: 'answerDocument',
        summary: 'Answer a question from a document, or summarise it',
        description:
          "The document comes as the one file of a form, with the other fields beside it, or as `text` in JSON. Its end stands in the decoder's prompt as far as the protocol wants; what comes before is cut into chunks, which the encoder reads in parallel.",
        body: { content: { 'application/json': { schema: DocumentRequestSchema } } },
        response: { 200: DocumentResponseSchema, ...bodyErrorResponses(422, 504) },
      },
    },
    async (request, reply) => {
      const run = runOptions(request, reply, deadlineMs)
      const ask = (form: DocumentForm, bytes: number, load: Load, name?: string): Promise<DocumentResponse> =>
        answerDocument({ form, bytes, load: titled(form, load, name) }, services, run)
      const giveBack = slots.take(run.client ?? '')
      if (giveBack === undefined)
        throw new CodedError('overloaded', `${slots.taken} documents are being received or read already. Try again later.`, {
          retryAfterS: RETRY_AFTER_S,
        })
      try {
        if (request.isMultipart()) {
          const { form, file } = await readDocumentForm(request, maxFileBytes)
          return await ask(form, file.bytes.length, (left) => parser.read(file, left), file.name)
        }
        if (request.body === undefined || request.body === null)
          throw new CodedError('invalid_request', 'The body is empty: send a form with the document as its file, or JSON with text.', {
            field: 'body',
          })
        const { text, type = 'text', ...form } = request.body as Static<typeof DocumentRequestSchema>
        return await ask(form, text.length, (left) =>
          type === 'text'
            ? Promise.resolve(plainDocument(text))
            : parser.read({ bytes: Buffer.from(text), mediaType: `text/${type}; charset=utf-8` }, left),
        )
      } finally {
        giveBack()
      }
    },
  )
}
