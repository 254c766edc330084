import { randomUUID } from 'node:crypto'
import { open, realpath, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import pLimit from 'p-limit'
import { closing } from '../../base/files.ts'
import { makeFolder, writeFileDurably } from '../../base/durable.ts'
import { CodedError, messageOf, onCode } from '../../base/errors.ts'
import { sealed } from '../../base/json.ts'
import { workFolder } from '../../base/locks/scratch.ts'
import { fitCalibration, type JudgedSignals } from './fit.ts'
import type { AnswerClient } from '../client/client.ts'
import { namedService } from '../client/http.ts'
import { describeProblem, type EvalQuestion, spread } from '../datasets/question-set.ts'
import { demoCorpus, questionFile } from '../datasets/shipped.ts'
import { readDataset } from '../datasets/read.ts'
import { bestOver, exactMatch } from '../metrics/answer.ts'
import { invalidOption, wholeNumbers } from '../run/options.ts'
import { ONE_ITEM_CODES } from '../run/record.ts'
import { createProgress } from '../../src/cli/program/progress.ts'
import { calibrationFiles, loadConfig } from '../../src/config.ts'
import type { Config } from '../../src/settings.ts'
import { type Calibration, CALIBRATION_VERSION, type Quality, type Signals } from '../../src/rag/calibration.ts'
import { type AnswerResponse, LIMITS } from '../../src/rag/schema.ts'

export interface CalibrateOptions {
  readonly unanswerable: readonly string[]
  readonly k?: string
  readonly unanswerableShare?: number
  readonly model?: string
  readonly url?: string
  readonly key?: string
  readonly out?: string
  /** Questions to ask, evenly spaced over the files. */
  readonly limit?: number
  readonly concurrency: number
}

/** The shipped questions, about the shipped corpus, and the share of those that it does not answer. */
const SHIPPED = { files: ['dev.jsonl', 'dev_unanswerable.jsonl'].map(questionFile), share: 0.1 }

/** `cepe calibrate`; without files the shipped questions and corpus are used, in a temporary index. @throws options_invalid */
export async function calibrate(given: string[], options: CalibrateOptions): Promise<void> {
  const isShipped = given.length === 0 && options.unanswerable.length === 0
  if (isShipped && options.url !== undefined)
    throw invalidOption('Name question files: the shipped ones are about the shipped corpus, not that of --url.')
  if (!isShipped) return fit(given, options, {})
  await using folder = await workFolder()
  const index = { INDEX_DIR: folder.path, JOBS_DIR: path.join(folder.path, 'jobs'), CORPUS: demoCorpus() }
  await fit(SHIPPED.files, { unanswerableShare: SHIPPED.share, ...options }, index)
}

/** @param index settings of the index that is asked, in place of the configured one's */
async function fit(files: readonly string[], options: CalibrateOptions, index: Partial<Record<keyof Config, string>>): Promise<void> {
  const { model, url, unanswerableShare = null } = options
  const overrides = { ...(model !== undefined && { READER_DIR: model, READER_CHECKPOINT: '' }) }
  if (url !== undefined && (options.out === undefined || model !== undefined))
    throw invalidOption('--url needs --out, and takes the model that the service has (no --model).')
  const named = options.out ?? calibrationFiles(loadConfig(overrides)).own
  if (named === undefined) throw invalidOption('The index is in an object store: name the file with --out and set CEPE_CALIBRATION to it.')
  const ks = options.k === undefined ? [null] : wholeNumbers('--k', options.k, 1, LIMITS.k)
  const { questions: all, files: read, skipped } = await readQuestions(files, options.unanswerable)
  const questions = spread(all, options.limit ?? all.length)
  for (const line of skipped) process.stderr.write(`${line}\n`)
  // A link stays one.
  const out = await realpath(named).catch(() => named)
  await refuseUnwritable(out)
  const { createInProcessClient } = await import('../client/in-process.ts')
  await using client = closing(namedService(options) ?? (await createInProcessClient({ ...overrides, ...index })))
  const { judged, left, questions: counts, sources, defaults } = await askAll(client, questions, { ks, concurrency: options.concurrency })
  const { mode, demonstrations, chat_template = 'none', instruction = '', focus, weights } = defaults
  const calibration: Calibration = {
    version: CALIBRATION_VERSION,
    fitted_at: new Date().toISOString(),
    reader: sources.model.reader,
    ...(weights !== undefined && { weights }),
    prompt: { chat_template, instruction, mode, demonstrations, ...(focus && { focus }) },
    retriever: sources.model.retriever,
    index: sources.index,
    asked: {
      files: [...read],
      k: [...ks],
      answers: judged.length,
      right: judged.filter(({ right }) => right).length,
      unanswerable: judged.filter(({ answerable }) => !answerable).length,
      unanswerable_share: unanswerableShare,
    },
    ...fitCalibration(judged, unanswerableShare, counts),
  }
  await writeFileDurably(out, `${JSON.stringify(sealed(calibration), null, 2)}\n`)
  process.stdout.write(`${describe(calibration, left, counts.unanswerable)}\n${out}: read when the service starts next\n`)
}

function describe(
  { reader, asked, l2, cross_validated: { probability, confidence } }: Calibration,
  left: number,
  unanswerable: number,
): string {
  const line = (name: string, { log_loss, ece, auroc }: Quality) =>
    `${name}: log loss ${log_loss.toFixed(3)}, expected calibration error ${ece.toFixed(3)}, AUROC ${auroc.toFixed(3)}`
  const answers = `${asked.answers} answers of ${reader}, ${asked.right} of them right, ${asked.unanswerable} to ${unanswerable} unanswerable questions; ${left} skipped (no answer, or no signals); penalty ${l2}`
  return [answers, line('probability_correct (cross-validated)', probability), line('confidence', confidence)].join('\n')
}

/** Checked before questions are asked, whose cost would be lost. @throws options_invalid if the file cannot be written */
async function refuseUnwritable(out: string): Promise<void> {
  const aside = `${out}.${randomUUID()}.tmp`
  try {
    const found = await stat(path.resolve(out)).catch(() => undefined)
    // A device or a pipe would be replaced.
    if (found?.isFile() === false) throw new Error(found.isDirectory() ? 'it is a folder' : 'it is no regular file')
    await makeFolder(path.dirname(out))
    await (await open(aside, 'wx')).close()
    await rm(aside)
  } catch (error) {
    throw invalidOption(`${out} cannot be written (${messageOf(error)}): name another file with --out.`, error)
  }
}

/** Reads questions: unanswerable are those without an answer, and all of `unanswerable`. @throws dataset_invalid for a file without any */
async function readQuestions(files: readonly string[], unanswerable: readonly string[]) {
  const read = await Promise.all([
    ...files.map((file) => readDataset(file, { answerable: null, keepPassages: 0 })),
    ...unanswerable.map((file) => readDataset(file, { answerable: false, keepPassages: 0 })),
  ])
  return {
    questions: read.flatMap(({ questions, file }) => questions.map((question) => ({ ...question, id: `${file} ${question.id}` }))),
    files: read.map(({ file, sha256 }) => ({ name: file, sha256 })),
    skipped: read.flatMap(({ file, problems }) => problems.map((problem) => `${file}: ${describeProblem(problem)}`)),
  }
}

/**
 * Asks every question at every k (null: the model's own) and judges the answers (exact match). A question that the service rejects or fails
 * at, without an answer or without passages is left out and counted.
 * @throws options_invalid if model or index change meanwhile; nothing_scored if nothing was answered; the service's own errors
 */
async function askAll(
  client: AnswerClient,
  questions: readonly EvalQuestion[],
  { ks, concurrency }: { readonly ks: readonly (number | null)[]; readonly concurrency: number },
) {
  const defaults = await client.defaults()
  const progress = createProgress('Asking', 'questions')
  const limit = pLimit(concurrency)
  const tasks = questions.flatMap((question) => ks.map((k) => ({ question, k })))
  let done = 0
  const ask = async ({ question, k }: (typeof tasks)[number]) => {
    const request = { question: question.question, ...(k !== null && { k }), min_confidence: 0, include_signals: true }
    const response = await client.answer(request).catch(onCode(ONE_ITEM_CODES, () => undefined))
    progress.update(++done, tasks.length)
    return response === undefined ? [] : [{ question, response }]
  }
  const asked = await limit.map(tasks, ask).finally(() => {
    limit.clearQueue()
    progress.stop()
  })
  const answers = asked.flat()
  const [first] = answers
  if (first === undefined) throw new CodedError('nothing_scored', 'The service answered none of the questions: its log says why.')
  const { model, index } = first.response
  const same = answers.every(
    ({ response }) =>
      response.model.reader === model.reader && response.index?.table === index?.table && response.index?.passages === index?.passages,
  )
  if (!same || index === null) throw invalidOption('The model or the index changed while questions were asked: run the command again.')
  const judged = answers.flatMap(({ question, response }) => judge(question, response))
  const unsigned = 'No answer has signals: all are empty, or no passages were found. Check the answers (cepe ask --file).'
  if (judged.length === 0) throw new CodedError('nothing_scored', unsigned)
  const answerable = answers.filter(({ question }) => question.answerable).length
  const counts = { answerable, unanswerable: answers.length - answerable }
  return { judged, left: tasks.length - judged.length, questions: counts, sources: { model, index }, defaults }
}

function judge({ answers, answerable, goldTitle, id }: EvalQuestion, { answer, signals }: AnswerResponse): JudgedSignals[] {
  if (answer === null || signals === undefined || signals === null) return []
  return [{ signals: signals as Signals, right: bestOver(exactMatch, answer, answers) === 1, answerable, group: goldTitle ?? id }]
}
