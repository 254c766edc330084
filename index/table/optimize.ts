import { setTimeout as sleep } from 'node:timers/promises'
import { isRemote, within } from '../store/place.ts'
import { namesIn } from '../store/tree.ts'
import { readAlias, tableFolder, tableOf } from './alias.ts'
import { writing, type Table } from './lance.ts'
import { inTurn } from './turn.ts'

type OptimizeStats = Awaited<ReturnType<Table['optimize']>>

/** How often it is looked whether the files are together; listing an object store takes longer. */
const LOOK_MS = 10
const REMOTE_LOOK_MS = 250

/**
 * Puts small files together, removes those that only versions from before `cleanupOlderThan` name, and folds what is new into the indexes.
 * A row that is changed meanwhile would undo the first of these, whose files LanceDB leaves for a week: changes of a live table wait
 * until the files are together. They go on beside the rest.
 * @throws disk_full, conflict
 */
export async function optimize(table: Table, cleanupOlderThan: Date): Promise<OptimizeStats> {
  const started = async (): Promise<{ readonly all: Promise<OptimizeStats> }> => {
    await table.checkoutLatest()
    const together = await watchFiles(table)
    const ended = new AbortController()
    const all = table.optimize({ cleanupOlderThan }).finally(() => ended.abort())
    await Promise.race([all, together(ended.signal)])
    return { all }
  }
  return writing(table, async () => {
    const { all } = (await isLive(table)) ? await inTurn(table.dir, tableOf(table.storedAs), started) : await started()
    return all
  })
}

/** A table of a job's own, or one that was replaced, has no changes to wait. */
async function isLive({ dir, storedAs }: Table): Promise<boolean> {
  return (await readAlias(dir, tableOf(storedAs)))?.stored_as === storedAs
}

/**
 * LanceDB does all in one call and does not say how far it is. Files that it has put together are in the table's newest version; where
 * there are none to put together, it writes an index without having written a file of rows.
 * @returns a function that resolves when that shows, or the signal says that all is done.
 */
async function watchFiles(table: Table): Promise<(ended: AbortSignal) => Promise<void>> {
  const folder = tableFolder(table.dir, table.storedAs)
  const count = async (name: string): Promise<number> => (await namesIn(within(folder, name))).length
  const files = async (): Promise<string> => {
    const { totalBytes, fragmentStats } = await table.stats()
    return `${totalBytes} ${fragmentStats.numFragments}`
  }
  const before = { files: await files(), data: await count('data'), indexes: await count('_indices') }
  return async (ended) => {
    while (!ended.aborted) {
      await sleep(isRemote(table.dir) ? REMOTE_LOOK_MS : LOOK_MS)
      if ((await files()) !== before.files) return
      if ((await count('_indices')) > before.indexes && (await count('data')) <= before.data) return
    }
  }
}
