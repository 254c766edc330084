import pLimit, { type LimitFunction } from 'p-limit'
import { CodedError } from '../../base/errors.ts'
import { whileHeld, type Lock } from '../../base/locks/lock.ts'
import type { TableLocation } from '../contract.ts'
import { storeOf, within } from '../store/store-of.ts'
import type { LockOptions } from '../store/store.ts'
import { connectLance, type Table } from '../table/lance.ts'
import { manifestFiles } from '../table/manifest.ts'
import { aliasPath, checkFolder, checkTableName, readAlias, tableFolder, tableOf } from '../versions/alias.ts'

/** Runs work under a lock, in order of arrival. @throws overloaded if the lock is not acquired within `waitMs` */
export async function withLock<T>(location: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const done = await whileHeld(storeOf(location).locks.take(location, options), async () => ({ result: await work() }))
  if (done !== undefined) return done.result
  const seconds = Math.round(options.waitMs / 1000)
  throw new CodedError('overloaded', `The writer lock was not acquired within ${seconds} s. Try again later.`, { retryAfterS: 5 })
}

/**
 * Fences off pending writes of a process that lost its lease: restores the newest version. LanceDB rejects every commit that started before
 * a restore. The caller holds the writer lock of the tables.
 */
async function fenceTables(dir: string, which: (storedAs: string) => boolean): Promise<void> {
  using connection = await connectLance(dir, 0)
  for (const storedAs of (await connection.tableNames()).filter(which)) {
    // A table whose removal was interrupted has no version to commit on top of.
    if ((await manifestFiles(tableFolder(dir, storedAs))).length > 0) await fence(await connection.openTable(storedAs))
  }
}

async function fence(table: Table): Promise<void> {
  let base = await table.version()
  let last = base
  for (;;) {
    await table.checkout(base)
    await table.restore()
    const made = await table.version()
    if (made === last + 1) return
    // A commit came in between and is complete: keep its version. No commit can land on top of the restore.
    if (last === base) base = made - 1
    last = made
  }
}

/** Fences off pending writes to the live table of a name. */
export async function fenceLive(location: TableLocation): Promise<void> {
  const storedAs = await readAlias(location)
  if (storedAs !== undefined) await fenceTables(location.dir, (name) => name === storedAs)
}

/** Longest wait for the writer lock. */
const WAIT_MS = 60_000

/** Queues of this process's writers by lock: one of them at a time competes with other processes. */
const queues = new Map<string, LimitFunction>()

/**
 * Serialises the writers of a table over all processes: upserts, deletes, commits of jobs, and changes of the alias. LanceDB's merge does
 * not detect a concurrent insert of the same ids, which would leave duplicate rows. A change under the lock is written to the table that is
 * live at that moment.
 * @throws overloaded if the lock is not acquired within a minute; index_missing if the folder has disappeared, during the work too
 */
export function withWriterLock<T>(location: TableLocation, work: () => Promise<T>): Promise<T> {
  const { dir, table } = location
  const lock = storeOf(dir).locks.of(aliasPath(location), within(dir, `${checkTableName(table)}.turns`))
  const queue = queues.get(lock) ?? pLimit(1)
  queues.set(lock, queue)
  return queue(async () => {
    await checkFolder(dir)
    return withLock(lock, { waitMs: WAIT_MS, onTakeover: () => fenceLive(location) }, async () => {
      const result = await work()
      await checkFolder(dir)
      return result
    })
  })
}

/**
 * Serialises compaction and index builds of a table over all processes: concurrent runs would conflict. Writes and reads continue.
 * @param options `waitMs`: how long to wait for another process; Infinity without limit
 * @returns false if another process held the lock for longer than `waitMs`: nothing was done
 */
export async function withMaintenanceLock(
  { dir, table }: TableLocation,
  options: Pick<LockOptions, 'waitMs' | 'signal'>,
  work: () => Promise<unknown>,
): Promise<boolean> {
  await checkFolder(dir)
  const taken = storeOf(dir).locks.take(within(dir, `${checkTableName(table)}.upkeep`), { ...options, advisory: true })
  return (await whileHeld(taken, () => work().then(() => true))) ?? false
}

/**
 * One job per index folder, over processes. Single changes do not take this lock: these and commits take `withWriterLock`.
 * @param dir folder of the index, or its address
 * @throws index_missing if the folder has disappeared
 * @returns undefined if another live process holds the lock for longer than `waitMs`: try again
 */
export async function tryJobLock(dir: string, waitMs = 0): Promise<Lock | undefined> {
  await checkFolder(dir)
  // The takeover fences off a stalled holder's pending writes, to any table.
  return storeOf(dir).locks.take(within(dir, 'writer'), { waitMs, onTakeover: () => fenceAll(dir) })
}

async function fenceAll(dir: string): Promise<void> {
  const names = (await storeOf(dir).files.list(dir)).filter((name) => name.endsWith('.lance'))
  for (const table of new Set(names.map(tableOf)))
    await withWriterLock({ dir, table }, () => fenceTables(dir, (storedAs) => tableOf(storedAs) === table))
}
