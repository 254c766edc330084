import { writeFileDurably } from '../../base/durable.ts'
import { CodedError, messageOf } from '../../base/errors.ts'
import { createProgress } from '../../src/cli/program/progress.ts'
import { calibrationFiles, loadConfig } from '../../src/config.ts'
import { CALIBRATION_VERSION, type Calibration, type Quality } from '../../src/rag/calibration/calibration.ts'
import { LIMITS } from '../../src/rag/schema.ts'
import { connectTo } from '../client/connect.ts'
import { askAll, readQuestions } from './ask.ts'
import { fitCalibration } from './fit.ts'
import { randomUUID } from 'node:crypto'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import path from 'node:path'

export interface CalibrateOptions {
  readonly unanswerable: readonly string[]
  readonly k?: string
  readonly unanswerableShare?: number
  readonly model?: string
  readonly url?: string
  readonly key?: string
  readonly out?: string
  readonly concurrency: number
}

/** `cepe calibrate`. @throws options_invalid */
export async function calibrate(files: string[], options: CalibrateOptions): Promise<void> {
  const { model, url, unanswerableShare = null } = options
  const overrides = { ...(model !== undefined && { READER_DIR: model, READER_CHECKPOINT: '' }) }
  if (url !== undefined && (options.out === undefined || model !== undefined))
    throw new CodedError('options_invalid', '--url needs --out, and takes the model that the service has (no --model).')
  const out = options.out ?? calibrationFiles(loadConfig(overrides)).own
  if (out === undefined)
    throw new CodedError(
      'options_invalid',
      'The index is in an object store: name the file with --out, and give it to the service by CEPE_CALIBRATION.',
    )
  const ks = readKs(options.k)
  const { questions, files: read, skipped } = await readQuestions(files, options.unanswerable)
  for (const line of skipped) process.stderr.write(`${line}\n`)
  await refuseUnwritable(out)
  const { createInProcessClient } = await import('../client/in-process.ts')
  const client = url === undefined ? await createInProcessClient(overrides) : connectTo(url, options.key)
  const progress = createProgress('Asking', 'questions')
  let asked: Awaited<ReturnType<typeof askAll>>
  try {
    asked = await askAll(client, questions, {
      ks,
      concurrency: options.concurrency,
      onProgress: (done, total) => progress.update(done, total),
    })
  } finally {
    progress.stop()
    await client.close()
  }
  const { judged, left, sources } = asked
  const calibration: Calibration = {
    version: CALIBRATION_VERSION,
    fitted_at: new Date().toISOString(),
    reader: sources.model.reader,
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
    ...fitCalibration(judged, unanswerableShare),
  }
  await writeFileDurably(out, `${JSON.stringify(calibration, null, 2)}\n`)
  process.stdout.write(`${describe(calibration, left)}\n${out}: read when the service starts next\n`)
}

/** @throws options_invalid with the allowed values of --k */
function readKs(given: string | undefined): (number | null)[] {
  if (given === undefined) return [null]
  const ks = given.split(',').map(Number)
  if (ks.every((k) => Number.isInteger(k) && k >= 1 && k <= LIMITS.k)) return ks
  throw new CodedError(
    'options_invalid',
    `--k takes whole numbers from 1 to ${LIMITS.k}, separated by commas, not ${JSON.stringify(given)}.`,
  )
}

function describe({ reader, asked, l2, cross_validated: { probability, confidence } }: Calibration, left: number): string {
  const line = (name: string, { log_loss, ece, auroc }: Quality) =>
    `${name}: log loss ${log_loss.toFixed(3)}, expected calibration error ${ece.toFixed(3)}, AUROC ${auroc.toFixed(3)}`
  return [
    `${asked.answers} answers of ${reader}, ${asked.right} of them right, ${asked.unanswerable} to unanswerable questions; ${left} skipped (no answer, or no signals); penalty ${l2}`,
    line('probability_correct (cross-validated)', probability),
    line('confidence', confidence),
  ].join('\n')
}

/** Checked before questions are asked, whose cost would be lost. @throws options_invalid if the file cannot be written */
async function refuseUnwritable(out: string): Promise<void> {
  const aside = `${out}.${randomUUID()}.tmp`
  try {
    const there = await stat(out).catch(() => undefined)
    if (there?.isDirectory() === true) throw new Error('it is a folder')
    await mkdir(path.dirname(out), { recursive: true })
    await (await open(aside, 'wx')).close()
    await rm(aside)
  } catch (error) {
    throw new CodedError('options_invalid', `${out} cannot be written (${messageOf(error)}): name another file with --out.`, {
      field: 'out',
      cause: error,
    })
  }
}
