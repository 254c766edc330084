import type { AnswerClient } from '../../client/client.ts'
import type { EvalQuestion } from '../../datasets/question-set.ts'
import { bestOver, exactMatch } from '../../metrics/answer.ts'
import { askQuestion, type AskContext } from './ask.ts'
import { QA_RUNS } from './run.ts'
import { runItems } from '../../runner/items.ts'
import type { QaManifest } from './manifest.ts'
import { settingName, settingsOf, type Protocol } from './protocol.ts'
import type { EvalRecord } from './record.ts'

export interface EvaluateOptions {
  readonly client: AnswerClient
  readonly folder: string
  readonly manifest: QaManifest
  readonly questions: readonly EvalQuestion[]
  /** Training questions, for demonstrations. */
  readonly pool: readonly EvalQuestion[]
  /** Concurrent questions. */
  readonly concurrency: number
  /** Called after every question with the running scores. */
  readonly onProgress: (done: number, total: number, detail: string) => void
}

/**
 * Asks every question that the folder does not contain yet, and returns all records in question order. Finished questions are durable: the
 * same call resumes.
 * @throws service_unreachable, nothing_scored, run_mismatch; errors that concern all questions
 */
export async function evaluate({ client, manifest, questions, pool, onProgress, ...run }: EvaluateOptions): Promise<EvalRecord[]> {
  const { protocol, dump_prompts: dumpPrompts } = manifest.subject
  const context: AskContext = { client, protocol, pool, dumpPrompts, topPassages: new Map() }
  const running = runningScores(protocol)
  return runItems({
    ...run,
    format: QA_RUNS,
    manifest,
    items: questions,
    what: 'questions',
    ask: (question) => askQuestion(question, context),
    onRecord: running.add,
    onProgress: (done, total) => onProgress(done, total, running.line()),
  })
}

/** Running exact match at each method's largest k, for the progress line. */
function runningScores(protocol: Protocol) {
  const shown = new Map(settingsOf(protocol).map((setting) => [setting.method, setting]))
  const sums = new Map([...shown.keys()].map((method) => [method, 0]))
  let scored = 0
  const add = ({ answerable, skipped, answers, predictions }: EvalRecord): void => {
    if (!answerable || skipped) return
    scored++
    for (const [method, { k }] of shown) {
      const prediction = predictions.find((candidate) => candidate.method === method && candidate.k === k)
      if (prediction) sums.set(method, (sums.get(method) ?? 0) + bestOver(exactMatch, prediction.answer, answers))
    }
  }
  const line = (): string =>
    scored === 0
      ? ''
      : `EM ${[...shown.values()].map((setting) => `${((100 * (sums.get(setting.method) ?? 0)) / scored).toFixed(1)} ${settingName(setting)}`).join(', ')}`
  return { add, line }
}
