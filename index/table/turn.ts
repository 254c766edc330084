import { join } from 'node:path'
import { checkTableName } from './alias.ts'
import { withLock } from '../../base/lock.ts'

/** Longest wait of a change for those before it. */
const WAIT_MS = 60_000

/** Changes of this process wait here, so that only one of them at a time stands in line with other processes. */
const tails = new Map<string, Promise<void>>()

/**
 * Changes of a table one after the other, over all processes: upserts, deletes, the commits of jobs, and the step that puts
 * another stored table behind the name. LanceDB's merge looks ids up in their index and does not notice another
 * writer that inserts the same ids meanwhile, which would leave two rows of one id; and a change that is made in its turn
 * goes into the table that is live at that moment.
 * @throws overloaded if the changes of other processes take longer than a minute.
 */
export function inTurn<T>(dir: string, table: string, work: () => Promise<T>): Promise<T> {
  const folder = join(dir, `${checkTableName(table)}.turns`)
  const before = tails.get(folder) ?? Promise.resolve()
  const mine = before.then(() => withLock(folder, WAIT_MS, work))
  const tail = mine.then(
    () => undefined,
    () => undefined,
  )
  tails.set(folder, tail)
  tail
    .then(() => {
      if (tails.get(folder) === tail) tails.delete(folder)
    })
    .catch(() => undefined)
  return mine
}
