import pLimit from 'p-limit'
import { mean } from '../../base/at.ts'
import { CodedError, diskFull, messageOf, type ErrorCode } from '../../base/errors.ts'
import { isDiskFull } from '../../base/failures.ts'
import { type Cost, duration, type RunOptions } from './follow.ts'
import { openRun, type OpenRun, REMOVE_LINE, type RunFormat, type RunManifest, storedRun } from './folder.ts'
import type { Skipped, TaskRecord } from './record.ts'

/** The part of a record that the loop needs, for any task. */
type ItemRecord = Pick<TaskRecord, 'id' | 'skipped'>

interface RunItemsOptions<R extends ItemRecord, Item extends { readonly id: string }> extends Omit<RunOptions, 'onProblem'> {
  readonly folder: string
  readonly format: RunFormat<RunManifest, R>
  readonly manifest: RunManifest
  readonly items: readonly Item[]
  /** Plural noun for the items in messages. */
  readonly what: string
  /** Settings that each item is asked in: an item has as many answers. */
  readonly settings?: number
  readonly tokensOf?: (record: R) => number
  /** Concurrent items. */
  readonly concurrency: number
  /** Asks one item; a record with `skipped` counts as skipped, an error ends the run. */
  readonly ask: (item: Item) => Promise<R>
  /** Called with every finished record, including earlier ones first. */
  readonly onRecord?: (record: R) => void
  readonly onProgress: NonNullable<RunOptions['onProgress']>
}

/** Consecutive skipped items after which the run stops: the cause is then the protocol or the service. */
const SKIPPED_IN_A_ROW = 10

/**
 * Asks every item that the folder does not contain yet. Finished items are durable: the same call resumes. @returns records in item order
 * @throws service_unreachable, nothing_scored, run_mismatch, conflict, disk_full; errors that concern all items
 */
export async function runItems<R extends ItemRecord, Item extends { readonly id: string }>(
  options: RunItemsOptions<R, Item>,
): Promise<R[]> {
  const { folder, items, what, settings = 1, tokensOf = () => 0, concurrency, ask, planOnly = false } = options
  const { onRecord = () => undefined, onCost = () => undefined } = options
  const run = await begun(folder, options)
  const finished = new Map(run.records.filter(({ skipped }) => !skipped?.retry).map((record) => [record.id, record]))
  finished.forEach(onRecord)
  let skippedInARow = 0
  let failure: { readonly error: unknown } | undefined
  const show = progressOf(options, finished)
  show()

  const askOne = async (item: Item): Promise<void> => {
    const record = await ask(item)
    await run.writer?.add(record)
    finished.set(record.id, record)
    onRecord(record)
    show()
    skippedInARow = record.skipped ? skippedInARow + 1 : 0
    if (record.skipped && skippedInARow >= Math.min(SKIPPED_IN_A_ROW, items.length))
      throw nothingScored(`${skippedInARow} ${what} in a row were skipped; the last`, record.skipped)
  }
  /** After the first failure, running items are finished and kept, and no further one is started. */
  const unlessFailed = async (next: () => Promise<void> | void): Promise<void> => {
    if (failure) return
    try {
      await next()
    } catch (error) {
      failure ??= { error }
    }
  }
  const left = items.filter(({ id }) => !finished.has(id))
  let begunItems = 0
  let started = performance.now()
  let measured: R[] = []
  // A skipped item says nothing about the cost of others.
  while (!failure && measured.length === 0 && begunItems < left.length) {
    const batch = left.slice(begunItems, (begunItems += concurrency))
    started = performance.now()
    await Promise.all(batch.map((item) => unlessFailed(() => askOne(item))))
    measured = batch.flatMap(({ id }) => finished.get(id) ?? []).filter(({ skipped }) => !skipped)
  }
  const remaining = Math.max(0, left.length - begunItems) + measured.length
  const ms = ((performance.now() - started) / measured.length) * remaining
  const cost: Cost = { what, items: remaining, settings, tokens: mean(measured.map(tokensOf)), ms }
  if (measured.length > 0) await unlessFailed(() => onCost(cost))
  await pLimit(concurrency).map(planOnly ? [] : left.slice(begunItems), (item) => unlessFailed(() => askOne(item)))
  await run.writer?.close().catch((error: unknown) => {
    failure ??= { error }
  })
  const kept = `${finished.size} of ${items.length} ${what} are kept in ${folder}: repeat the command to resume.`
  if (failure) throw explained(failure.error, folder, kept)
  if (planOnly) return []
  const asked = items.flatMap(({ id }) => finished.get(id) ?? [])
  const [one] = asked
  if (one?.skipped && asked.every(({ skipped }) => skipped))
    throw nothingScored(`All ${asked.length} ${what} were skipped; the first`, one.skipped)
  return asked
}

/** The records of the folder, and its writer unless only a plan is wanted. */
async function begun<R extends ItemRecord, Item extends { readonly id: string }>(
  folder: string,
  { format, manifest, planOnly, items, what }: RunItemsOptions<R, Item>,
): Promise<Pick<OpenRun<R>, 'records'> & Partial<OpenRun<R>>> {
  try {
    if (planOnly === true) return (await storedRun(folder, manifest, format)) ?? { records: [] }
    const run = await openRun(folder, manifest, format)
    const ids = new Set(items.map(({ id }) => id))
    const stray = run.records.find(({ id }) => !ids.has(id))
    if (stray === undefined) return run
    await run.writer.close()
    throw new CodedError('run_invalid', `${folder} has an answer to "${stray.id}", which is none of its ${what}: ${REMOVE_LINE}.`)
  } catch (error) {
    throw explained(error, folder, '')
  }
}

/** Reports the finished answers, and the time left by the pace so far. */
function progressOf<R extends ItemRecord, Item extends { readonly id: string }>(
  { items, settings = 1, onProgress }: RunItemsOptions<R, Item>,
  finished: ReadonlyMap<string, unknown>,
): () => void {
  const [before, started] = [finished.size, performance.now()]
  return () => {
    const [asked, left] = [finished.size - before, items.length - finished.size]
    const time = asked > 0 && left > 0 ? `${duration(((performance.now() - started) / asked) * left)} left` : ''
    onProgress(finished.size * settings, items.length * settings, time)
  }
}

function nothingScored(which: string, { setting, message }: Skipped): CodedError {
  return new CodedError('nothing_scored', `${which} in ${setting ?? 'retrieval'}: ${message}`)
}

/** Errors that end a run although every item could be asked later. */
const FOR_LATER: readonly ErrorCode[] = ['service_unreachable', 'rate_limited', 'overloaded']

/** Adds what was kept to the error of an unavailable service, and a remedy to a full disk. */
function explained(error: unknown, folder: string, kept: string): unknown {
  const full = `The disk of ${folder} is full. Earlier results are kept: free space, then repeat the command to resume.`
  if (isDiskFull(error)) return diskFull(undefined, full, error)
  return error instanceof CodedError && FOR_LATER.includes(error.code)
    ? new CodedError(error.code, `${messageOf(error)} ${kept}`, { cause: error })
    : error
}
