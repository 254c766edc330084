import type { FastifyRequest } from 'fastify'
import { Compile } from '#typebox/compile'
import { CodedError } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import type { DocumentFile } from '../../documents/type.ts'
import { DocumentFormSchema, type DocumentForm } from '../../rag/document-schema.ts'
import { describeValidation } from '../errors/describe-validation.ts'
import { partTypes } from './part-types.ts'
import { partsOf } from './upload-parts.ts'

const Form = Compile(DocumentFormSchema)

/** Limits of a form, beside that of its file. */
export const FORM_LIMITS = { files: 1, fields: 30, fieldSize: 32_768, headerPairs: 100 } as const

/**
 * Reads a form with one file and fields as texts: numbers and booleans are parsed, sampling is JSON.
 * @throws invalid_request, payload_too_large naming the field
 */
export async function readDocumentForm(request: FastifyRequest, maxBytes: number): Promise<{ file: DocumentFile; form: DocumentForm }> {
  let file: DocumentFile | undefined
  let problem: CodedError | undefined
  const fields: Record<string, unknown> = {}
  const typeOf = partTypes(request)
  // Reads to the end even after an error: an unread body keeps its connection open.
  for await (const part of partsOf(request)) {
    if (part.type === 'file') {
      const { bytes, size } = await wholeFile(part.file, maxBytes)
      if (size > maxBytes) problem ??= tooLarge('file', `has ${size} bytes; ${maxBytes} are read at most (CEPE_DOCUMENT_MB)`)
      file = { bytes, name: part.filename, mediaType: typeOf(0) || part.mimetype }
    } else if (part.valueTruncated === true) problem ??= tooLarge(part.fieldname, `is longer than ${FORM_LIMITS.fieldSize} bytes`)
    else if (Object.hasOwn(fields, part.fieldname)) problem ??= twice(part.fieldname)
    else fields[part.fieldname] = valueOf(part.fieldname, String(part.value))
  }
  if (problem) throw problem
  if (file === undefined)
    throw new CodedError('invalid_request', 'The form holds no file: send the document as its one file.', { field: 'file' })
  if (Form.Check(fields)) return { file, form: fields }
  const { field, message } = describeValidation(Form.Errors(fields), 'form')
  throw new CodedError('invalid_request', message, { field })
}

/** Converts a field for its schema; an invalid one stays a text, which the schema rejects. */
function valueOf(name: string, text: string): unknown {
  const known: Readonly<Record<string, object>> = DocumentFormSchema.properties
  const schema = known[name]
  const type = schema !== undefined && 'type' in schema ? schema.type : undefined
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  if (type === 'integer') return /^\d+$/.test(text) ? Number(text) : text
  return type === 'object' ? (parseJson(text) ?? text) : text
}

function twice(field: string): CodedError {
  return new CodedError('invalid_request', `${field} is given twice: give it once.`, { field })
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
