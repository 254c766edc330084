import { setTimeout as sleep } from 'node:timers/promises'
import { storeOf, within } from '../store/store-of.ts'
import { readAlias, tableFolder, tableOf } from '../versions/alias.ts'
import { writing, type Table } from '../table/lance.ts'
import { withWriterLock } from '../writers/writer-lock.ts'

type OptimizeStats = Awaited<ReturnType<Table['optimize']>>

/** How often it is looked whether the files are together; where each look is a request less often. */
const LOOK_MS = 10
const SLOW_LOOK_MS = 250
/** How long changes wait at most: less than they would (see `withWriterLock`). What takes longer is refused if a row of it is changed then, and begun anew. */
const MOST_HELD_MS = 45_000

/**
 * Compacts small files, removes those that only versions from before `cleanupOlderThan` name, and adds new rows to the indexes.
 * A row that is changed meanwhile would undo the first of these, whose files LanceDB leaves for a week: changes of a live table wait
 * until the files are together. They go on beside the rest.
 * @throws disk_full, conflict
 */
export async function optimize(table: Table, cleanupOlderThan: Date): Promise<OptimizeStats> {
  return writing(table, async () => {
    if (!(await isLive(table))) return table.optimize({ cleanupOlderThan })
    const { rest } = await withWriterLock(table.dir, tableOf(table.storedAs), async () => {
      await table.checkoutLatest()
      const together = await watchFiles(table)
      const ended = new AbortController()
      const all = table.optimize({ cleanupOlderThan }).finally(() => ended.abort())
      await Promise.race([all, together(ended.signal)])
      return { rest: all }
    })
    return rest
  })
}

/** A table of a job's own, or one that was replaced, has no changes to wait. */
async function isLive({ dir, storedAs }: Table): Promise<boolean> {
  return (await readAlias(dir, tableOf(storedAs)))?.stored_as === storedAs
}

/**
 * LanceDB does all in one call and does not say how far it is. Files that it has compacted are in the table's newest version; where
 * there are none to compact, it writes an index without having written a file of rows.
 * @returns a function that resolves when that shows, or the signal says that all is done.
 */
async function watchFiles(table: Table): Promise<(ended: AbortSignal) => Promise<void>> {
  const folder = tableFolder(table.dir, table.storedAs)
  const names = (name: string): Promise<string[]> => storeOf(folder).files.list(within(folder, name))
  const added = async (name: string, before: ReadonlySet<string>): Promise<boolean> => (await names(name)).some((one) => !before.has(one))
  const state = async (): Promise<string> => {
    const { totalBytes, fragmentStats } = await table.stats()
    return `${totalBytes} ${fragmentStats.numFragments}`
  }
  const shows = async (): Promise<boolean> =>
    (await state()) !== before || ((await added('_indices', indexes)) && !(await added('data', data)))
  const [before, data, indexes] = [await state(), new Set(await names('data')), new Set(await names('_indices'))]
  const from = performance.now()
  return async (ended) => {
    while (!ended.aborted && performance.now() - from < MOST_HELD_MS) {
      await sleep(storeOf(table.dir).slowReads ? SLOW_LOOK_MS : LOOK_MS)
      // A look that fails (a version goes while it is read) shows nothing, and is no reason to give up what is under way.
      if (await shows().catch(() => false)) return
    }
  }
}
