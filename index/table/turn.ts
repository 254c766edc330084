import { aliasPath, checkTableName } from './alias.ts'
import { fenceLive } from './fence.ts'
import { withLock } from './lock.ts'
import { isRemote, within } from '../store/place.ts'

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
  // In an object store the alias says itself whose turn it is: one write tells both.
  const place = isRemote(dir) ? aliasPath(dir, table) : within(dir, `${checkTableName(table)}.turns`)
  const before = tails.get(place) ?? Promise.resolve()
  const mine = before.then(() => withLock(place, WAIT_MS, work, { onTakeover: () => fenceLive(dir, table) }))
  const tail = mine.then(
    () => undefined,
    () => undefined,
  )
  tails.set(place, tail)
  tail
    .then(() => {
      if (tails.get(place) === tail) tails.delete(place)
    })
    .catch(() => undefined)
  return mine
}
