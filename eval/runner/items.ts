import pLimit from 'p-limit'
import { CodedError, messageOf, type ErrorCode } from '../../base/errors.ts'
import { isDiskFull } from '../../base/failures.ts'
import { openRun, type RunFormat } from './folder.ts'
import type { Skipped } from './skipped.ts'

/** The part of a record that the loop needs, for any task. */
export interface ItemRecord {
  readonly id: string
  readonly skipped?: Skipped
}

export interface RunItemsOptions<M extends Parameters<typeof openRun>[1], R extends ItemRecord, Item extends { readonly id: string }> {
  readonly folder: string
  readonly format: RunFormat<M, R>
  readonly manifest: M
  readonly items: readonly Item[]
  /** Plural noun for the items in messages. */
  readonly what: string
  /** Concurrent items. */
  readonly concurrency: number
  /** Asks one item; a record with `skipped` counts as skipped, an error ends the run. */
  readonly ask: (item: Item) => Promise<R>
  /** Called with every finished record, including earlier ones first. */
  readonly onRecord?: (record: R) => void
  readonly onProgress: (done: number, total: number) => void
}

/** Consecutive skipped items after which the run stops: the cause is then the protocol or the service. */
const SKIPPED_IN_A_ROW = 10

/**
 * Asks every item that the folder does not contain yet, and returns all records in item order. Finished items are durable: the same call
 * resumes.
 * @throws service_unreachable, nothing_scored, run_mismatch, conflict, disk_full; errors that concern all items
 */
export async function runItems<M extends Parameters<typeof openRun>[1], R extends ItemRecord, Item extends { readonly id: string }>({
  folder,
  format,
  manifest,
  items,
  what,
  concurrency,
  ask,
  onRecord = () => undefined,
  onProgress,
}: RunItemsOptions<M, R, Item>): Promise<R[]> {
  const { records, writer } = await openRun(folder, manifest, format).catch((error: unknown) => {
    throw explained(error, folder, '')
  })
  const finished = new Map(records.filter(({ skipped }) => !skipped?.retry).map((record) => [record.id, record]))
  finished.forEach(onRecord)
  const limit = pLimit(concurrency)
  let skippedInARow = 0
  let failure: { readonly error: unknown } | undefined
  onProgress(finished.size, items.length)

  const askOne = async (item: Item): Promise<void> => {
    const record = await ask(item)
    await writer.add(record)
    finished.set(record.id, record)
    onRecord(record)
    onProgress(finished.size, items.length)
    skippedInARow = record.skipped ? skippedInARow + 1 : 0
    if (record.skipped && skippedInARow >= Math.min(SKIPPED_IN_A_ROW, items.length)) {
      throw new CodedError(
        'nothing_scored',
        `${skippedInARow} ${what} in a row were skipped; the last in ${record.skipped.setting ?? 'retrieval'}: ${record.skipped.message}`,
      )
    }
  }
  /** After the first failure, running items are finished and kept, and no further one is started. */
  const askUnlessFailed = async (item: Item): Promise<void> => {
    if (failure) return
    await askOne(item).catch((error: unknown) => {
      failure ??= { error }
    })
  }
  await Promise.all(items.filter(({ id }) => !finished.has(id)).map((item) => limit(askUnlessFailed, item)))
  await writer.close().catch((error: unknown) => {
    failure ??= { error }
  })
  if (failure)
    throw explained(
      failure.error,
      folder,
      `${finished.size} of ${items.length} ${what} are kept in ${folder}: repeat the command to resume.`,
    )
  const asked = items.flatMap(({ id }) => finished.get(id) ?? [])
  const [first] = asked
  if (first?.skipped && asked.every(({ skipped }) => skipped))
    throw new CodedError(
      'nothing_scored',
      `All ${asked.length} ${what} were skipped; the first in ${first.skipped.setting ?? 'retrieval'}: ${first.skipped.message}`,
    )
  return asked
}

/** Errors that end a run although every item could be asked later. */
const FOR_LATER: readonly ErrorCode[] = ['service_unreachable', 'rate_limited', 'overloaded']

/** Adds what was kept to the error of an unavailable service, and a remedy to a full disk. */
function explained(error: unknown, folder: string, kept: string): unknown {
  if (isDiskFull(error))
    return new CodedError(
      'disk_full',
      `The disk of ${folder} is full. Earlier results are kept: free space, then repeat the command to resume.`,
      { cause: error },
    )
  return error instanceof CodedError && FOR_LATER.includes(error.code)
    ? new CodedError(error.code, `${messageOf(error)} ${kept}`, { cause: error })
    : error
}
