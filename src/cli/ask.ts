import { Command, Option } from 'commander'
import { loadConfig } from '../config.ts'
import { CodedError } from '../../base/errors.ts'
import { answerQuestion } from '../rag/answer.ts'
import { createServices } from '../services.ts'
import { ensureArtefacts } from '../setup.ts'
import { METHODS, type AnswerResponse, type Method } from '../rag/schema.ts'
import { createProgress } from './progress.ts'

/** Evidence lines shown without --json. */
const SHOWN_EVIDENCE = 3

export function askCommand(): Command {
  return new Command('ask')
    .description('answer one question from the shell')
    .argument('<question>')
    .option('--k <number>', 'passages to retrieve')
    .addOption(new Option('--method <method>', 'how passages are searched (default: CEPE_RETRIEVAL)').choices(METHODS))
    .option('--json', 'print the whole response')
    .action(async (question: string, { method, ...options }: { k?: string; method?: Method; json?: boolean }) => {
      const k = options.k === undefined ? undefined : wholeNumber('--k', options.k)
      const config = loadConfig()
      await ensureArtefacts(config, createProgress)
      const services = await createServices(config)
      try {
        const response = await answerQuestion({ question, ...(k !== undefined && { k }), ...(method && { method }) }, services.answering, {
          deadlineMs: config.DEADLINE_MS,
        })
        process.stdout.write(options.json ? `${JSON.stringify(response, null, 2)}\n` : readable(response))
      } finally {
        await services.close()
      }
    })
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0)
    throw new CodedError('invalid_request', `${option} must be a whole number, not ${JSON.stringify(text)}.`, { field: option })
  return value
}

function readable({ answer, confidence, evidence, timings_ms }: AnswerResponse): string {
  const lines = evidence.slice(0, SHOWN_EVIDENCE).map(({ rank, title, text, role, attention }) => {
    const share = attention === null ? '' : `, attention ${(100 * attention).toFixed(0)} %`
    return `  ${rank}. ${title} (${role}${share}): ${text}`
  })
  return [
    answer === '' ? '(no answer)' : answer,
    `confidence ${confidence.toFixed(2)}, ${Math.round(timings_ms.total)} ms, ${evidence.length} passages:`,
    ...lines,
    '',
  ].join('\n')
}
