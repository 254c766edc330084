import { Command, Option } from 'commander'
import { DOCUMENT_REQUEST_LIMITS, LIMITS, METHODS } from '../rag/limits.ts'
import { CHAT_TEMPLATES } from '../text/chat-template.ts'
import { CHUNKINGS } from '../text/document/request.ts'
import { MODES } from '../text/plan.ts'
import { collectionOption, wholeNumber } from './program/options.ts'
import type { AskOptions } from './run-ask.ts'
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
    .action(async (file: string, question: string | undefined, options: ReadOptions) =>
      (await import('./run-read.ts')).runRead(file, question, options),
    )
}

/** `cepe mcp`: tools for an agent host on the same machine, without a server. */
export function mcpCommand(): Command {
  return new Command('mcp')
    .description('serve tools for agents over standard input and output (Model Context Protocol); started by the agent host')
    .action(async () => (await import('./run-mcp.ts')).runMcp())
}

/** `cepe ask`: answers one question, or a file of them, without a server. */
export function askCommand(): Command {
  return new Command('ask')
    .description('answer one question, or a file of questions')
    .argument('[question]')
    .addOption(collectionOption())
    .addOption(new Option('--mode <mode>', "how passages are read (default: the model's own)").choices(MODES))
    .option('--k <number>', 'passages to retrieve', wholeNumber({ max: LIMITS.k }))
    .addOption(new Option('--method <method>', 'retrieval method (default: CEPE_RETRIEVAL)').choices(METHODS))
    .option('--json', 'print the full response as JSON')
    .option('--file <file>', 'answer the questions of this file, one per line: JSON as in POST /v1/answer, or plain text')
    .option('--out <file>', 'with --file: new file for the answers, as JSON lines (default: standard output)')
    .action(async (question: string | undefined, options: AskOptions) => (await import('./run-ask.ts')).runAsk(question, options))
}
