import { ageOf } from '../../base/locks/clock.ts'
import { CodedError } from '../../base/errors.ts'
import { bytesUnder } from '../store/store-of.ts'
import type { Table } from '../table/lance.ts'
import { optimize } from './optimize.ts'
import { retentionMs } from '../versions/read-pins.ts'
import { mergeSegments, vectorSegments } from './segments.ts'
import type { TableSync } from '../table/table-sync.ts'
import { versionsOf, type Version } from '../table/versions.ts'

/** Target rows of a fragment. LanceDB leaves larger ones alone, so the cost of repeated compactions is proportional to the rows added. */
const FRAGMENT_ROWS = 2 ** 20
/**
 * Default retention of replaced files: readers refresh to the newest version within seconds, and finish within a question's deadline of two
 * minutes.
 */
export const KEEP_MS = 3 * 60_000

/** A version replaced this long ago was replaced by one that is durable by now. */
const SETTLED_MS = 60_000

/** How fragmented a table is. */
export interface Fragmentation {
  readonly fragments: number
  /** Fragments in excess of a compacted table of this size, not counting those that segments of the vector index keep apart. */
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
  /** Retention of replaced versions, in milliseconds. */
  readonly keepMs: number
  /** Most segments to leave in the vector index. */
  readonly mostSegments: number
}

/**
 * Compacts small fragments while writers of a live table wait, updates the indexes, and removes files of versions replaced more than
 * `keepMs` ago once the new ones are durable.
 * @throws disk_full, conflict
 */
export async function compactTable(table: Table, sync: TableSync, { keepMs, mostSegments }: CompactOptions): Promise<void> {
  const settled = Math.max(keepMs, SETTLED_MS)
  await cleanTable(table, settled)
  // Files covered by different segments can be merged only now.
  if (await mergeSegments(table, mostSegments)) await cleanTable(table, settled)
  await sync.flush()
  // Only if needed: rows written since would become another index segment.
  if (keepMs < SETTLED_MS) await cleanTable(table, keepMs)
}

/**
 * For optional work, without which the table is still consistent. On a conflict with other writers it logs a warning and leaves the work to
 * the next write or job.
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

/** Removes the files of versions replaced more than `keepMs` ago, after merging files that compaction would merge. */
export async function cleanTable(table: Table, keepMs: number): Promise<{ readonly bytes: number; readonly versions: number }> {
  const cleanupOlderThan = keptFrom(await versionsOf(table), await retentionMs(table, keepMs))
  const { prune } = await optimize(table, cleanupOlderThan)
  return { bytes: prune.bytesRemoved, versions: prune.oldVersionsRemoved }
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
function keptFrom(versions: readonly Version[], keepMs: number): Date {
  const times = versions.map(({ timestamp }) => timestamp.getTime()).filter((time) => ageOf(time) >= keepMs)
  return new Date(times.reduce((latest, time) => Math.max(latest, time), 0))
}

/** Bytes of obsolete files, relative to the newest version, that justify a clean-up. */
const WASTE = 0.5

/** Returns true if files of versions replaced more than `keepMs` ago take a large share of the table's bytes. */
export async function isWasteful(table: Table, folder: string, keepMs: number): Promise<boolean> {
  if ((await oldVersions(table, keepMs)) === 0) return false
  const { bytes } = await fragmentation(table)
  return (await bytesUnder(folder)) > bytes * (1 + WASTE)
}
