import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { given, counted } from '../../base/at.ts'
import { closing } from '../../base/files.ts'
import { CodedError, invalidOption, notFound } from '../../base/errors.ts'
import { documentBounds, loadConfig } from '../config.ts'
import { createDocumentParser } from '../documents/parser.ts'
import { createAdmission } from '../inference/pool/admission.ts'
import { createReader } from '../inference/pool/models/create-reader.ts'
import { answerDocument } from '../rag/document.ts'
import type { DocumentForm, DocumentResponse } from '../rag/document-schema.ts'
import { cutOff } from '../rag/no-answer/words.ts'
import { documentDefaults, readerOptions } from '../service/models.ts'
import { ensureReader } from '../service/setup.ts'
import type { ChatTemplate } from '../text/chat-template.ts'
import { createProgress } from './program/progress.ts'
import { print } from './program/shown.ts'

/** Characters of a chunk shown without --json. */
const SHOWN_CHARACTERS = 200

const NO_QUESTION = 'There is no question: give one after the file, or --summarise, or a document with its own question after an END line.'

export interface ReadOptions extends Pick<DocumentForm, 'summarise' | 'chunking' | 'title'> {
  readonly json?: boolean
  readonly maxNewTokens?: number
  readonly chatTemplate?: ChatTemplate
}

/** Answers a question about one document. @throws not_found, payload_too_large; what answering throws */
export async function runRead(file: string, question: string | undefined, options: ReadOptions): Promise<void> {
  const response = await readDocument(file, question, options).catch((error: unknown) => {
    const isUnasked = error instanceof CodedError && error.field === 'question' && question === undefined
    throw isUnasked ? invalidOption('question', NO_QUESTION) : error
  })
  await print(options.json ? `${JSON.stringify(response, null, 2)}\n` : readable(response))
}

async function readDocument(file: string, question: string | undefined, options: ReadOptions): Promise<DocumentResponse> {
  const config = loadConfig()
  const bytes = await bytesOf(file, config.DOCUMENT_MB * 2 ** 20)
  await ensureReader(config, createProgress)
  await using reader = closing(await createReader(readerOptions(config)))
  await using parser = closing(createDocumentParser(documentBounds(config)))
  const name = path.basename(file)
  const { maxNewTokens, chatTemplate, json: _, ...same } = options
  const form: DocumentForm = { ...same, ...given({ question, max_new_tokens: maxNewTokens, chat_template: chatTemplate }) }
  return await answerDocument(
    { form, bytes: bytes.length, name, load: (run) => parser.read({ bytes, name }, run) },
    { reader, admission: createAdmission({ maxWaiting: 0, concurrency: 1 }), ...documentDefaults(config) },
    { deadlineMs: config.DEADLINE_MS },
  )
}

async function bytesOf(file: string, most: number): Promise<Buffer> {
  const found = await stat(file).catch(() => undefined)
  if (found?.isFile() !== true) {
    const remedy = found?.isDirectory() === true ? 'it is a folder; name one document, or use cepe index add' : 'name the document'
    throw notFound('file', `There is no file ${file}: ${remedy}.`)
  }
  const { size } = found
  if (size > most)
    throw new CodedError('payload_too_large', `${file} has ${size} bytes; ${most} are read at most (CEPE_DOCUMENT_MB).`, { field: 'file' })
  return readFile(file)
}

function readable(response: DocumentResponse): string {
  const { answer, confidence, evidence, document, timings_ms } = response
  const lines = evidence.map(({ rank, start, end, pages, role, attention, text }) => {
    const share = attention === null ? role : `attention ${(100 * attention).toFixed(0)} %`
    const location =
      pages === null
        ? `characters ${start} to ${end}`
        : `page ${pages.first === pages.last ? pages.first : `${pages.first} to ${pages.last}`}`
    const shown = text.replace(/\s+/g, ' ').trim()
    return `  ${rank}. ${location} (${share}): ${shown.length > SHOWN_CHARACTERS ? `${shown.slice(0, SHOWN_CHARACTERS)} ...` : shown}`
  })
  const unread = `${document.unread} characters were not read: they fit the question less, or the model takes no more. \`cepe index add\` and \`cepe ask\` search all of it.`
  return [
    answer === '' ? '(no answer)' : answer,
    `${cutOff(response)}confidence ${confidence.toFixed(2)}, ${Math.round(timings_ms.total)} ms, ${counted(document.tokens, 'token')} in ${counted(document.chunks, 'chunk')}:`,
    ...lines,
    ...(document.unread === 0 ? [] : [unread]),
    '',
  ].join('\n')
}
