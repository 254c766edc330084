import { CodedError } from '../../base/errors.ts'
import { storeOf } from '../store/store-of.ts'
import type { Table } from '../table/lance.ts'
import { optimize } from './optimize.ts'
import { retentionMs } from '../versions/read-pins.ts'
import { mergeSegments, vectorSegments } from './segments.ts'
import type { TableSync } from '../table/table-sync.ts'
import { versionsOf, type Version } from '../table/versions.ts'

/** Rows that LanceDB puts into one fragment when it compacts: larger ones are left as they are, so that the work of many compactions stays in proportion to what was added. */
const FRAGMENT_ROWS = 2 ** 20
/**
 * How long files of versions that were replaced are kept, unless configured: a reader goes on to the newest version within seconds,
 * and what it has begun ends within the deadline of a question, two minutes.
 */
export const KEEP_MS = 3 * 60_000

/** A version that was replaced so long ago was replaced by one that is on the disk by now. */
const SETTLED_MS = 60_000

/** How fragmented a table is. */
export interface Fragmentation {
  readonly fragments: number
  /** Fragments beyond those that a compacted table of its size has, and those that parts of the vector index keep apart. */
  readonly surplus: number
  /** Bytes of the newest version. */
  readonly bytes: number
}

export async function fragmentation(table: Table): Promise<Fragmentation> {
  const { fragmentStats, numRows, totalBytes } = await table.stats()
  const fragments = fragmentStats.numFragments
  const expected = Math.max(1, Math.ceil(numRows / FRAGMENT_ROWS), await vectorSegments(table))
  return { fragments, surplus: Math.max(0, fragments - expected), bytes: totalBytes }
}

export interface CompactOptions {
  /** Versions that were replaced longer ago are removed, in milliseconds. */
  readonly keepMs: number
  /** Parts that the vector index may be left in. */
  readonly mostSegments: number
}

/**
 * Compacts small fragments, while writers of a live table wait, and updates the indexes; removes the files of
 * versions replaced more than `keepMs` ago, once the new ones are on the disk.
 * @throws disk_full, conflict
 */
export async function compactTable(table: Table, sync: TableSync, { keepMs, mostSegments }: CompactOptions): Promise<void> {
  const settled = Math.max(keepMs, SETTLED_MS)
  await cleanTable(table, settled)
  // Files that different segments covered can be merged only now.
  if (await mergeSegments(table, mostSegments)) await cleanTable(table, settled)
  await sync.flush()
  // Not without need: what was put meanwhile would become one more part of the indexes.
  if (keepMs < SETTLED_MS) await cleanTable(table, keepMs)
}

/**
 * For work without which a table is whole too: where others, who know of no turns or hold a large table up for long, kept it from its end, that is said,
 * and left to the next write or job.
 * @throws all but conflict
 */
export async function orLater(work: () => Promise<unknown>, onWarning: (message: string) => void): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof CodedError && error.code === 'conflict')) throw error
    onWarning(`Compaction failed: ${error.message}`)
  }
}

/** Removes the files of versions replaced more than `keepMs` ago; files that compaction would merge are merged before. */
export async function cleanTable(table: Table, keepMs: number): Promise<{ readonly bytes: number; readonly versions: number }> {
  const cleanupOlderThan = keptFrom(await versionsOf(table), await retentionMs(table, keepMs))
  const { prune } = await optimize(table, cleanupOlderThan)
  return { bytes: prune.bytesRemoved, versions: prune.oldVersionsRemoved }
}

/** Versions of a table that were replaced more than `keepMs` ago. */
export async function oldVersions(table: Table, keepMs: number): Promise<number> {
  const versions = await versionsOf(table)
  const from = keptFrom(versions, await retentionMs(table, keepMs))
  return versions.filter(({ timestamp }) => timestamp < from).length
}

/**
 * When the version was written that was the newest one `keepMs` ago: older ones were replaced before. LanceDB goes by the
 * time at which a version was written, but readers may be at one that was written long ago and replaced just now.
 */
function keptFrom(versions: readonly Version[], keepMs: number): Date {
  const until = Date.now() - keepMs
  const times = versions.map(({ timestamp }) => timestamp.getTime()).filter((time) => time <= until)
  return new Date(times.reduce((latest, time) => Math.max(latest, time), 0))
}

/** Files of a table beside those of its newest version, in its sizes, that are worth a clean-up. */
const WASTE = 0.5

/** True where files of versions that were replaced more than `keepMs` ago take a good part of what the table takes. */
export async function isWasteful(table: Table, folder: string, keepMs: number): Promise<boolean> {
  if ((await oldVersions(table, keepMs)) === 0) return false
  const { bytes } = await fragmentation(table)
  return (await storeOf(folder).files.bytes(folder)) > bytes * (1 + WASTE)
}
