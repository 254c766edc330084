import { Command, Option } from 'commander'
import { DOCUMENT_REQUEST_LIMITS } from '../rag/limits.ts'
import { CHAT_TEMPLATES } from '../text/chat-template.ts'
import { CHUNKINGS } from '../text/document-request.ts'
import { wholeNumber } from './numbers.ts'
import type { ReadOptions } from './run-read.ts'

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
      const { runRead } = await import('./run-read.ts')
      await runRead(file, question, options)
    })
}
