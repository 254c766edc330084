import { Command, Option } from 'commander'
import { DOCUMENT_REQUEST_LIMITS } from '../rag/limits.ts'
import { CHAT_TEMPLATES } from '../text/chat-template.ts'
import { CHUNKINGS } from '../text/document/request.ts'
import { wholeNumber } from './program/options.ts'
import type { ReadOptions } from './run-read.ts'

/** `cepe read`: answers a question about one document, without an index. */
export function readCommand(): Command {
  return new Command('read')
    .description('answer a question from a file: text, Markdown, HTML, PDF, DOCX, XLSX, PPTX, ODT, EPUB and others')
    .argument('<file>')
    .argument('[question]', 'optional if the file contains its own question after an END line')
    .option('--summarise', 'summarize the document')
    .option('--title <text>', 'title of the document')
    .addOption(
      new Option('--chunking <name>', 'passages: by sentences and headings; tokens: as the published evaluation').choices(CHUNKINGS),
    )
    .option('--max-new-tokens <number>', 'most tokens of the answer', wholeNumber({ min: 1, max: DOCUMENT_REQUEST_LIMITS.newTokens }))
    .addOption(new Option('--chat-template <name>', 'chat template of the prompt (default: CEPE_CHAT_TEMPLATE)').choices(CHAT_TEMPLATES))
    .option('--json', 'print the full response as JSON')
    .action(async (file: string, question: string | undefined, options: ReadOptions) => {
      const { runRead } = await import('./run-read.ts')
      await runRead(file, question, options)
    })
}
