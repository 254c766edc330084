import { setTimeout as sleep } from 'node:timers/promises'
import { storeOf, within } from '../store/store-of.ts'
import { readAlias, tableFolder, tableOf } from '../versions/alias.ts'
import { writing, type Table } from '../table/lance.ts'
import { withWriterLock } from '../writers/writer-lock.ts'

type OptimizeStats = Awaited<ReturnType<Table['optimize']>>

/** Interval for polling whether files are merged; longer where each poll is a request. */
const LOOK_MS = 10
const SLOW_LOOK_MS = 250
/**
 * Longest time that writers wait: less than their timeout (see `withWriterLock`). After it, a concurrent change makes the compaction fail,
 * and it is retried.
 */
const MOST_HELD_MS = 45_000

/**
 * Compacts small files, removes files used only by versions older than `cleanupOlderThan`, and adds new rows to the indexes. A concurrent
 * change would abort the compaction, and LanceDB keeps the orphaned files for a week. Writers of a live table therefore wait until files
 * are merged; index updates run beside writes.
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

/** A job's own table, or a replaced one, has no writers. */
async function isLive({ dir, storedAs }: Table): Promise<boolean> {
  return (await readAlias(dir, tableOf(storedAs)))?.stored_as === storedAs
}

/**
 * LanceDB compacts and indexes in one call without reporting progress. Compacted files are visible in the newest version; if there was
 * nothing to compact, an index appears without new data files.
 * @returns a function that resolves when that is visible, or when the signal reports the end of the call
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
      // A failed poll (a version removed while it is read) is ignored: the call itself is still running.
      if (await shows().catch(() => false)) return
    }
  }
}
