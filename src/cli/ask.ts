import { Command, Option } from 'commander'
import { LIMITS, METHODS } from '../rag/limits.ts'
import { MODES } from '../text/plan.ts'
import { collectionOption, wholeNumber } from './program/options.ts'
import type { AskOptions } from './run-ask.ts'

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
    .action(async (question: string | undefined, options: AskOptions) => {
      const { runAsk } = await import('./run-ask.ts')
      await runAsk(question, options)
    })
}
