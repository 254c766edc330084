import { Command, Option } from 'commander'
import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { CodedError } from '../../base/errors.ts'
import { loadConfig } from '../config.ts'
import { createDocumentParser } from '../documents/parser.ts'
import { createAdmission } from '../inference/pool/admission.ts'
import { createReader } from '../inference/pool/create-reader.ts'
import { answerDocument } from '../rag/document.ts'
import { DOCUMENT_REQUEST_LIMITS, type DocumentForm, type DocumentResponse } from '../rag/document-schema.ts'
import { documentDefaults, readerOptions } from '../open-reader.ts'
import { ensureReader } from '../setup.ts'
import { CHAT_TEMPLATES, type ChatTemplate } from '../text/chat-template.ts'
import { CHUNKINGS } from '../text/document-request.ts'
import { wholeNumber } from './numbers.ts'
import { createProgress } from './progress.ts'

/** Characters of a chunk shown without --json. */
const SHOWN_CHARACTERS = 200

interface ReadOptions {
  readonly summarise?: boolean
  readonly json?: boolean
  readonly title?: string
  readonly chunking?: (typeof CHUNKINGS)[number]
  readonly maxNewTokens?: number
  readonly chatTemplate?: ChatTemplate
}

/** `cepe read`: answers a question about one document, without an index. */
export function readCommand(): Command {
  return new Command('read')
    .description('answer a question from a file: text, Markdown, HTML or PDF')
    .argument('<file>')
    .argument('[question]', 'left out where the file brings its own after an END line')
    .option('--summarise', 'ask for a summary')
    .option('--title <text>', 'what the document is called')
    .addOption(
      new Option('--chunking <name>', 'passages: by sentences and headings; tokens: as the published evaluation').choices(CHUNKINGS),
    )
    .option('--max-new-tokens <number>', 'most tokens of the answer', wholeNumber({ min: 1, max: DOCUMENT_REQUEST_LIMITS.newTokens }))
    .addOption(new Option('--chat-template <name>', 'what is put around the prompt (default: CEPE_CHAT_TEMPLATE)').choices(CHAT_TEMPLATES))
    .option('--json', 'print the whole response')
    .action(async (file: string, question: string | undefined, options: ReadOptions) => {
      const response = await readDocument(file, question, options)
      process.stdout.write(options.json ? `${JSON.stringify(response, null, 2)}\n` : readable(response))
    })
}

async function readDocument(file: string, question: string | undefined, options: ReadOptions): Promise<DocumentResponse> {
  const config = loadConfig()
  const bytes = await bytesOf(file, config.DOCUMENT_MB * 2 ** 20)
  await ensureReader(config, createProgress)
  const reader = await createReader(readerOptions(config))
  const parser = createDocumentParser({ parseMs: config.DOCUMENT_PARSE_MS })
  const { summarise, title, chunking, maxNewTokens, chatTemplate } = options
  const form: DocumentForm = {
    ...(question !== undefined && { question }),
    ...(summarise && { summarise }),
    ...(chunking && { chunking }),
    ...(maxNewTokens !== undefined && { max_new_tokens: maxNewTokens }),
    ...(chatTemplate && { chat_template: chatTemplate }),
  }
  try {
    return await answerDocument(
      {
        form,
        bytes: bytes.length,
        load: async (run) => {
          const document = await parser.read({ bytes, name: path.basename(file) }, run)
          return { ...document, title: title ?? (document.title || path.parse(file).name) }
        },
      },
      { reader, admission: createAdmission({ maxWaiting: 0, places: 1 }), ...documentDefaults(config) },
      { deadlineMs: config.DEADLINE_MS },
    )
  } finally {
    parser.close()
    await reader.close()
  }
}

async function bytesOf(file: string, most: number): Promise<Buffer> {
  const found = await stat(file).catch(() => undefined)
  if (found?.isFile() !== true) throw new CodedError('not_found', `There is no file ${file}: name the document.`, { field: 'file' })
  const { size } = found
  if (size > most)
    throw new CodedError('payload_too_large', `${file} has ${size} bytes; ${most} are read at most (CEPE_DOCUMENT_MB).`, { field: 'file' })
  return readFile(file)
}

function readable({ answer, confidence, evidence, document, timings_ms }: DocumentResponse): string {
  const lines = evidence.map(({ rank, start, end, pages, role, attention, text }) => {
    const share = attention === null ? role : `attention ${(100 * attention).toFixed(0)} %`
    const place =
      pages === null
        ? `characters ${start} to ${end}`
        : `page ${pages.first === pages.last ? pages.first : `${pages.first} to ${pages.last}`}`
    const shown = text.replace(/\s+/g, ' ').trim()
    return `  ${rank}. ${place} (${share}): ${shown.length > SHOWN_CHARACTERS ? `${shown.slice(0, SHOWN_CHARACTERS)} ...` : shown}`
  })
  return [
    answer === '' ? '(no answer)' : answer,
    `confidence ${confidence.toFixed(2)}, ${Math.round(timings_ms.total)} ms, ${document.tokens} tokens in ${document.chunks} chunks:`,
    ...lines,
    '',
  ].join('\n')
}
