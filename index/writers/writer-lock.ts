import { aliasPath, checkFolder, checkTableName } from '../versions/alias.ts'
import { fenceLive } from './fence.ts'
import { withLock } from './lock.ts'
import { storeOf, within } from '../store/store-of.ts'

/** Longest wait for the writer lock. */
const WAIT_MS = 60_000

/** Queues of this process's writers by lock: one of them at a time competes with other processes. */
const tails = new Map<string, Promise<void>>()

/**
 * Serialises the writers of a table over all processes: upserts, deletes, commits of jobs, and changes of the alias. LanceDB's merge does
 * not detect a concurrent insert of the same ids, which would leave duplicate rows. A change under the lock is written to the table that is
 * live at that moment.
 * @throws overloaded if the lock is not acquired within a minute; index_missing if the folder has disappeared, during the work too
 */
export function withWriterLock<T>(dir: string, table: string, work: () => Promise<T>): Promise<T> {
  const location = storeOf(dir).locks.of(aliasPath(dir, table), within(dir, `${checkTableName(table)}.turns`))
  const before = tails.get(location) ?? Promise.resolve()
  const checked = async (): Promise<T> => {
    const result = await work()
    await checkFolder(dir)
    return result
  }
  const mine = before
    .then(() => checkFolder(dir))
    .then(() => withLock(location, { waitMs: WAIT_MS, onTakeover: () => fenceLive(dir, table) }, checked))
  const tail = mine.then(
    () => undefined,
    () => undefined,
  )
  tails.set(location, tail)
  tail
    .then(() => {
      if (tails.get(location) === tail) tails.delete(location)
    })
    .catch(() => undefined)
  return mine
}
