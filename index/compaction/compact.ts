import { setTimeout as sleep } from 'node:timers/promises'
import { conflict, invalidIndex, messageOf, onCode } from '../../base/errors.ts'
import { orAbsent } from '../../base/exists.ts'
import { sha256OfFile } from '../../base/files.ts'
import { ageOf } from '../../base/clock.ts'
import type { TableLocation } from '../contract.ts'
import { bytesUnder, storeOf, within } from '../store/store-of.ts'
import { readChecksums } from '../table/checksums.ts'
import { type Table, vectorIndexConfig, writing } from '../table/lance.ts'
import { readMetadata } from '../table/metadata.ts'
import type { TableSync } from '../table/table-sync.ts'
import { newestVersion, type Versions, versionsOf } from '../table/manifest.ts'
import { readAlias, tableFolder, tableOf } from '../versions/alias.ts'
import { retentionMs } from '../versions/read-pins.ts'
import { CHANGED, withLive } from '../versions/recover.ts'
import { withMaintenanceLock, withWriterLock } from '../writers/locks.ts'

/** Interval for polling whether files are merged; longer where each poll is a request. */
const LOOK_MS = 10
const SLOW_LOOK_MS = 250
/** Longest wait of writers: less than their timeout (see `withWriterLock`). Then a concurrent change fails a compaction; it is retried. */
const MOST_HELD_MS = 45_000

/**
 * Verifies the checksums of the files that a compaction merges. The merged file gets a new checksum, which would hide corruption of a
 * source.
 * @throws index_invalid naming the corrupt file
 */
async function requireUnchanged({ dir, storedAs }: Table): Promise<void> {
  if (storeOf(dir).durable) return
  const folder = tableFolder(dir, storedAs)
  const [recorded, { named }] = [await readChecksums(folder), await newestVersion(folder)]
  const merged = named.filter(({ rows }) => rows < FRAGMENT_ROWS)
  for (const { file } of merged.length > 1 ? merged : []) {
    const sums = recorded.get(file)
    // Another process may have compacted the table.
    const sha256 = sums && (await orAbsent(sha256OfFile(within(folder, file))))
    if (sha256 === undefined || sums?.has(sha256)) continue
    throw invalidIndex(file, `${file} of ${storedAs} ${CHANGED}, so that nothing is compacted: run \`cepe index verify\`.`)
  }
}

/**
 * Compacts small files, removes files used only by versions older than `cleanupOlderThan`, and adds new rows to the indexes. A concurrent
 * change would abort the compaction, and LanceDB keeps the orphaned files for a week. Writers of a live table therefore wait until files
 * are merged; index updates run during writes.
 * @throws disk_full, conflict; as requireUnchanged
 */
async function optimize(table: Table, cleanupOlderThan: Date): Promise<unknown> {
  const location = { dir: table.dir, table: tableOf(table.storedAs) }
  await requireUnchanged(table)
  return writing(table, async () => {
    // A job's own table, or a replaced one, has no writers.
    if ((await readAlias(location)) !== table.storedAs) return table.optimize({ cleanupOlderThan })
    const { rest } = await withWriterLock(location, async () => {
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

/** Most segments of a vector index. Each update adds one; a search reads `nprobes` partitions of each (13 take 1.4 times as long as one). */
export const MOST_SEGMENTS = 6

/** The name that LanceDB gives to the index of the column. */
const VECTOR_INDEX = 'vector_idx'

/** Returns the number of segments of the vector index; 0 without one. */
export async function vectorSegments(table: Table): Promise<number> {
  return (await table.indexStats(VECTOR_INDEX))?.numIndices ?? 0
}

/**
 * Rebuilds a vector index of more than `most` segments as one, with the same number of partitions. LanceDB does not merge segments, nor
 * files that different segments cover.
 * @returns true if it was rebuilt
 */
export async function mergeSegments(table: Table, most: number): Promise<boolean> {
  if ((await vectorSegments(table)) <= most) return false
  const { partitions } = await readMetadata(table)
  if (partitions === undefined) return false
  await writing(table, () => table.createIndex('vector', { config: vectorIndexConfig(partitions) }))
  return true
}

/** Target rows of a fragment. LanceDB leaves larger ones alone, so the cost of repeated compactions is proportional to the rows added. */
const FRAGMENT_ROWS = 2 ** 20
/** Default retention of replaced files: readers refresh within seconds, and finish within a question's deadline of two minutes. */
export const KEEP_MS = 3 * 60_000

/** A version replaced this long ago was replaced by one that is durable by now. */
const SETTLED_MS = 60_000

/**
 * @returns `surplus`: fragments in excess of a compacted table of this size, not counting those that segments of the vector index keep apart;
 * `bytes`: of the newest version
 */
export async function fragmentation(table: Table) {
  const { fragmentStats, numRows, totalBytes } = await table.stats()
  const fragments = fragmentStats.numFragments
  const expected = Math.max(1, Math.ceil(numRows / FRAGMENT_ROWS), await vectorSegments(table))
  return { fragments, surplus: Math.max(0, fragments - expected), bytes: totalBytes }
}

/**
 * Compacts small fragments while writers of a live table wait, updates the indexes, and removes files of versions replaced more than
 * `keepMs` ago once the new ones are durable.
 * @param mostSegments to leave in the vector index
 * @throws disk_full, conflict
 */
export async function compactTable(table: Table, sync: TableSync, keepMs: number, mostSegments = Infinity): Promise<void> {
  const settled = Math.max(keepMs, SETTLED_MS)
  await cleanTable(table, settled)
  // Files covered by different segments can be merged only now.
  if (await mergeSegments(table, mostSegments)) await cleanTable(table, settled)
  await sync.flush()
  // Only if needed: rows written since would become another index segment.
  if (keepMs < SETTLED_MS) await cleanTable(table, keepMs)
}

/**
 * For optional work, without which the table is still consistent. On a conflict with other writers, or where a file has changed on the disk,
 * it logs a warning and leaves the work to the next write or job.
 * @throws all but conflict and index_invalid
 */
export async function orLater(work: () => Promise<unknown>, onWarning: (message: string) => void): Promise<void> {
  await work().catch(onCode(['conflict', 'index_invalid'], (error) => onWarning(`Compaction failed: ${messageOf(error)}`)))
}

/** Removes the files of versions replaced more than `keepMs` ago, after merging files that compaction would merge. */
export async function cleanTable(table: Table, keepMs: number): Promise<void> {
  await optimize(table, keptFrom(await versionsOf(table), await retentionMs(table, keepMs)))
}

/** Number of versions replaced more than `keepMs` ago. */
export async function oldVersions(table: Table, keepMs: number): Promise<number> {
  const versions = await versionsOf(table)
  const from = keptFrom(versions, await retentionMs(table, keepMs))
  return versions.filter(({ timestamp }) => timestamp < from).length
}

/**
 * Returns when the version that was newest `keepMs` ago was written; older ones had been replaced by then. LanceDB expires versions by
 * their write time, but readers may use a version written long ago and replaced just now.
 */
function keptFrom(versions: Versions, keepMs: number): Date {
  const times = versions.map(({ timestamp }) => timestamp.getTime()).filter((time) => ageOf(time) >= keepMs)
  return new Date(times.reduce((latest, time) => Math.max(latest, time), 0))
}

/** Bytes of obsolete files, relative to the newest version, that justify a clean-up. */
const WASTE = 0.5

/** Returns true if files of versions replaced more than `keepMs` ago take a large share of the table's bytes. */
export async function isWasteful(table: Table, keepMs: number): Promise<boolean> {
  if ((await oldVersions(table, keepMs)) === 0) return false
  const { bytes } = await fragmentation(table)
  return (await bytesUnder(tableFolder(table.dir, table.storedAs))) > bytes * (1 + WASTE)
}

/** How long to wait for a running compaction of a service; a job takes longer. */
const RUNNING_MS = 60_000

interface CompactionCommandOptions extends TableLocation {
  /** compact: compact small files, then clean up. cleanup: only remove the files of expired versions. */
  readonly task: 'compact' | 'cleanup'
  /** How long to keep replaced files, in milliseconds. */
  readonly keepMs: number
  readonly dryRun: boolean
}

async function fragmentationState(table: Table, keepMs: number) {
  return {
    ...(await fragmentation(table)),
    /** Versions whose files have expired. */
    oldVersions: await oldVersions(table, keepMs),
    /** Bytes of all files of the table. */
    diskBytes: await bytesUnder(tableFolder(table.dir, table.storedAs)),
  }
}

/**
 * Compacts a live table from outside the serving process; reads and writes continue.
 * @returns its states; only the one before after a dry run
 * @throws index_missing, disk_full, conflict
 */
export async function compactionCommand({ task, keepMs, dryRun, ...location }: CompactionCommandOptions) {
  return withLive(location, async (table, sync) => {
    const before = await fragmentationState(table, keepMs)
    if (dryRun) return { before }
    const done = await withMaintenanceLock(location, { waitMs: RUNNING_MS }, async () => {
      if (task === 'compact') await compactTable(table, sync, keepMs, 1)
      else await cleanTable(table, keepMs)
      await sync.flushWithChecksums()
    })
    if (done) return { before, after: await fragmentationState(table, keepMs) }
    const message = `A job is building the indexes of "${location.table}". Compact the table when the job has ended.`
    throw conflict('table', message)
  })
}
