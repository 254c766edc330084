import { Command, Option } from 'commander'
import { loadConfig } from '../config.ts'
import { answerQuestion } from '../rag/answer.ts'
import { createServices } from '../services.ts'
import { ensureArtefacts } from '../setup.ts'
import { LIMITS, METHODS, type AnswerResponse, type Method } from '../rag/schema.ts'
import { wholeNumber } from './numbers.ts'
import { createProgress } from './progress.ts'

/** Evidence lines shown without --json. */
const SHOWN_EVIDENCE = 3

export function askCommand(): Command {
  return new Command('ask')
    .description('answer one question from the shell')
    .argument('<question>')
    .option('--k <number>', 'passages to retrieve', wholeNumber({ max: LIMITS.k }))
    .addOption(new Option('--method <method>', 'how passages are searched (default: CEPE_RETRIEVAL)').choices(METHODS))
    .option('--json', 'print the whole response')
    .action(async (question: string, { k, method, json }: { k?: number; method?: Method; json?: boolean }) => {
      const config = loadConfig()
      await ensureArtefacts(config, createProgress)
      const services = await createServices(config)
      try {
        const response = await answerQuestion({ question, ...(k !== undefined && { k }), ...(method && { method }) }, services.answering, {
          deadlineMs: config.DEADLINE_MS,
        })
        process.stdout.write(json ? `${JSON.stringify(response, null, 2)}\n` : readable(response))
      } finally {
        await services.close()
      }
    })
}

function readable({ answer, abstained, confidence, probability_correct: probability, evidence, timings_ms }: AnswerResponse): string {
  const lines = evidence.slice(0, SHOWN_EVIDENCE).map(({ rank, title, text, role, attention }) => {
    const share = attention === null ? '' : `, attention ${(100 * attention).toFixed(0)} %`
    return `  ${rank}. ${title} (${role}${share}): ${text}`
  })
  return [
    abstained ? '(no confident answer)' : answer === null ? '(no passage was found)' : answer === '' ? '(no answer)' : answer,
    `${probability === null ? '' : `${Math.round(100 * probability)} % likely right, `}confidence ${confidence.toFixed(2)}, ${Math.round(timings_ms.total)} ms, ${evidence.length} passages:`,
    ...lines,
    '',
  ].join('\n')
}
