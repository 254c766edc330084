import pLimit from 'p-limit'
import { messageOf, CodedError } from '../../base/errors.ts'
import type { AnswerClient } from '../client/client.ts'
import type { EvalQuestion } from '../datasets/types.ts'
import { bestOver, exactMatch } from '../metrics/answer.ts'
import { askQuestion, type AskContext } from './ask.ts'
import { openRun } from './folder.ts'
import type { Manifest } from './manifest.ts'
import { settingName, settingsOf, type Protocol } from './protocol.ts'
import type { EvalRecord } from './record.ts'

export interface EvaluateOptions {
  readonly client: AnswerClient
  readonly folder: string
  readonly manifest: Manifest
  readonly questions: readonly EvalQuestion[]
  /** Training questions, for demonstrations. */
  readonly pool: readonly EvalQuestion[]
  /** Questions asked at a time. */
  readonly concurrency: number
  /** Called after every question with a line about the running scores. */
  readonly onProgress: (done: number, total: number, detail: string) => void
}

/** Questions in a row without an answer after which the run stops: it is the protocol or the service, not the questions. */
const SKIPPED_IN_A_ROW = 10

/**
 * Asks every question that the folder does not hold yet, and returns all records in the order of the questions.
 * What was finished is on disk whatever happens: the same call goes on where it stopped.
 * @throws service_unreachable, nothing_scored, run_mismatch; an error where the service cannot answer at all
 */
export async function evaluate({
  client,
  folder,
  manifest,
  questions,
  pool,
  concurrency,
  onProgress,
}: EvaluateOptions): Promise<EvalRecord[]> {
  const { protocol, dump_prompts: dumpPrompts } = manifest.subject
  const { records, writer } = await openRun(folder, manifest)
  const finished = new Map(records.filter(({ skipped }) => !skipped?.retry).map((record) => [record.id, record]))
  const running = runningScores(protocol, [...finished.values()])
  const context: AskContext = { client, protocol, pool, dumpPrompts, topPassages: new Map() }
  const limit = pLimit(concurrency)
  let skippedInARow = 0
  let failure: { readonly error: unknown } | undefined
  onProgress(finished.size, questions.length, running.line())

  const ask = async (question: EvalQuestion): Promise<void> => {
    const record = await askQuestion(question, context)
    await writer.add(record)
    finished.set(record.id, record)
    running.add(record)
    onProgress(finished.size, questions.length, running.line())
    skippedInARow = record.skipped ? skippedInARow + 1 : 0
    if (record.skipped && skippedInARow >= Math.min(SKIPPED_IN_A_ROW, questions.length)) {
      throw new CodedError(
        'nothing_scored',
        `${skippedInARow} questions in a row were skipped; the last in ${record.skipped.setting ?? 'retrieval'}: ${record.skipped.message}`,
      )
    }
  }
  /** After the first failure the questions under way are finished and kept, and no further one is begun. */
  const askUnlessFailed = async (question: EvalQuestion): Promise<void> => {
    if (failure) return
    await ask(question).catch((error: unknown) => {
      failure ??= { error }
    })
  }
  await Promise.all(questions.filter(({ id }) => !finished.has(id)).map((question) => limit(askUnlessFailed, question)))
  await writer.close()
  if (failure)
    throw explained(failure.error, `${finished.size} of ${questions.length} questions are kept in ${folder}: repeat the command to go on.`)
  const asked = questions.flatMap(({ id }) => finished.get(id) ?? [])
  const [first] = asked
  if (first?.skipped && asked.every(({ skipped }) => skipped))
    throw new CodedError(
      'nothing_scored',
      `All ${asked.length} questions were skipped; the first in ${first.skipped.setting ?? 'retrieval'}: ${first.skipped.message}`,
    )
  return asked
}

/** A service that is gone is reported with what was kept. */
function explained(error: unknown, kept: string): unknown {
  return error instanceof CodedError && error.code === 'service_unreachable'
    ? new CodedError(error.code, `${messageOf(error)} ${kept}`, { cause: error })
    : error
}

/** Exact match so far in each method's largest k, for the progress line. */
function runningScores(protocol: Protocol, records: readonly EvalRecord[]) {
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
  records.forEach(add)
  const line = (): string =>
    scored === 0
      ? ''
      : `EM ${[...shown.values()].map((setting) => `${((100 * (sums.get(setting.method) ?? 0)) / scored).toFixed(1)} ${settingName(setting)}`).join(', ')}`
  return { add, line }
}
