import { writing, type Table } from './lance.ts'
import type { TableSync } from './table-sync.ts'

/** Rows that LanceDB puts into one fragment when it compacts: larger ones are left as they are, so that the work of many compactions stays in proportion to what was added. */
const FRAGMENT_ROWS = 2 ** 20
/** How long files of versions that were replaced are kept, unless configured: far longer than any query reads one. */
export const KEEP_MS = 10 * 60_000

/** How much of a table compaction would put together. */
export interface Fragmentation {
  readonly fragments: number
  /** Fragments beyond those that a table of its size has when it is tidy. */
  readonly surplus: number
  /** Bytes of the newest version. */
  readonly bytes: number
}

export async function fragmentation(table: Table): Promise<Fragmentation> {
  const { fragmentStats, numRows, totalBytes } = await table.stats()
  const fragments = fragmentStats.numFragments
  return { fragments, surplus: Math.max(0, fragments - Math.max(1, Math.ceil(numRows / FRAGMENT_ROWS))), bytes: totalBytes }
}

/**
 * Puts small fragments together and brings the indexes up to date, beside reads and writes; then removes the files of
 * versions replaced more than `keepMs` ago, once the new ones are on the disk.
 * @throws disk_full, conflict
 */
export async function compactTable(table: Table, sync: TableSync, keepMs: number): Promise<void> {
  await writing(table, () => table.optimize({ cleanupOlderThan: new Date(0) }))
  await sync.flush()
  await cleanTable(table, keepMs)
}

/** Removes the files of versions replaced more than `keepMs` ago. */
export async function cleanTable(table: Table, keepMs: number): Promise<{ readonly bytes: number; readonly versions: number }> {
  const { prune } = await writing(table, () => table.optimize({ cleanupOlderThan: new Date(Date.now() - keepMs) }))
  return { bytes: prune.bytesRemoved, versions: prune.oldVersionsRemoved }
}

/** Versions of a table that are older than `keepMs`, the newest not among them. */
export async function oldVersions(table: Table, keepMs: number): Promise<number> {
  const versions = await table.listVersions()
  const newest = Math.max(...versions.map(({ version }) => version))
  return versions.filter(({ version, timestamp }) => version !== newest && timestamp.getTime() < Date.now() - keepMs).length
}
