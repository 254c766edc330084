import { fragmentation } from '../compaction/compact.ts'
import type { TableLocation } from '../contract.ts'
import { contentHash } from '../hash.ts'
import type { WholeFile } from '../read/contract.ts'
import type { Table } from '../table/lance.ts'
import { halvesOf, PASSAGE_COLUMNS, passagesOf, type Rows } from '../table/rows.ts'
import type { TableSync } from '../table/table-sync.ts'
import { chunks, deleteRows, idsWhere, mergeRows, removeDoubles, sqlIds, sqlIn } from '../table/write.ts'
import { appendChange } from '../writers/change-log.ts'

/** Small files that make coalescing worthwhile: a search reads each (0.1 to 0.3 ms). Also the number of upserts between two checks. */
export const COALESCE_FILES = 8
/**
 * Most rows to coalesce: they are rewritten repeatedly until the next index update, and unindexed rows slow down text search whichever file
 * holds them.
 */
const MOST_ROWS = 64

/**
 * Returns the rows of small files, so that an upsert can write them into its own file. The caller must hold the writer lock, with the table
 * at its newest version.
 * @param without ids that are about to be written
 * @returns undefined if there is nothing to coalesce
 */
export async function coalesceSmallUpserts(table: Table, dimension: number, without: ReadonlySet<string>): Promise<Rows | undefined> {
  // Unindexed fragments are the last ones of the table.
  const left = Math.max(0, ...(await table.listIndices()).map(({ numUnindexedRows }) => numUnindexedRows ?? Infinity))
  if (left < COALESCE_FILES || left > MOST_ROWS || (await fragmentation(table)).surplus < COALESCE_FILES) return undefined
  const columns = [...PASSAGE_COLUMNS, 'vector']
  const found = await table
    .query()
    .select(columns)
    .offset((await table.countRows()) - left)
    .limit(left)
    .toArrow()
  const [passageAt, halvesAt] = [passagesOf(found), halvesOf(found)]
  const all = Array.from({ length: found.numRows }, (_, row) => ({ row, passage: passageAt(row) }))
  // A job repairs duplicate ids.
  if (new Set(all.map(({ passage }) => passage.id)).size < all.length) return undefined
  const kept = all.filter(({ passage }) => !without.has(passage.id))
  const halves = new Uint16Array(kept.length * dimension)
  for (const [i, { row }] of kept.entries()) halves.set(halvesAt(row), i * dimension)
  const passages = kept.map(({ passage }) => passage)
  return { passages, hashes: passages.map(contentHash), halves }
}

/** Concatenates rows. */
export function joinRows(a: Rows, b: Rows): Rows {
  const halves = new Uint16Array(a.halves.length + b.halves.length)
  halves.set(a.halves)
  halves.set(b.halves, a.halves.length)
  return { passages: [...a.passages, ...b.passages], hashes: [...a.hashes, ...b.hashes], halves }
}

const IDS_PER_QUERY = 1000
const SOURCES_PER_QUERY = 500

/** All passages of a document or a file: others of it are stale. */
export type DocumentEnd = WholeFile | { readonly document: string; readonly parts: number }

/** A change of the live table. */
interface RowChange {
  /** Passages to insert or replace, with their vectors. */
  readonly rows: Rows
  readonly dimension: number
  /** Documents and files that are complete with this change. */
  readonly ends: readonly DocumentEnd[]
  /** Ids written, or found unchanged: running jobs must not overwrite them with older content. */
  readonly ids: readonly string[]
  /** Ids with several rows, of which the newest is kept. */
  readonly doubled?: readonly string[] | undefined
  /** Job that makes the change, and ids that were changed after it was ordered, which it leaves alone. */
  readonly job?: { readonly id: string; readonly later: ReadonlySet<string> } | undefined
}

const NONE: ReadonlySet<string> = new Set()

/**
 * Changes the live table: the one way for single changes and for jobs. Durable when it resolves, and recorded in the change logs of running
 * jobs. The caller must hold the table's writer lock, with the table at its newest version.
 * @returns the version of the commit, if rows were written, and the number of duplicate rows removed
 */
export async function changeRows(
  location: TableLocation,
  { table, sync }: { readonly table: Table; readonly sync: TableSync },
  { rows, dimension, ends, ids, doubled = [], job }: RowChange,
): Promise<{ readonly version: number | undefined; readonly doubles: number }> {
  const doubles = await removeDoubles(table, doubled)
  const version = rows.passages.length === 0 ? undefined : await mergeRows(table, rows, dimension)
  const deleted = await deleteStale(table, ends, job?.later ?? NONE)
  if (doubles > 0 || version !== undefined || deleted.length > 0) await sync.flush()
  const told = [...ids, ...deleted]
  if (told.length > 0) await appendChange(location, { ids: told }, job?.id)
  return { version, doubles }
}

/**
 * Deletes stale passages: `doc#4` and later of a split document that now has three, and passages that files created and no longer have.
 * Numbers are consecutive, and the last are deleted first, so that this holds after a kill. The caller must hold the table's writer lock.
 * @param kept ids that stay, since they were changed later
 * @returns the ids deleted
 */
async function deleteStale(table: Table, ends: readonly DocumentEnd[], kept: ReadonlySet<string>): Promise<string[]> {
  const deleted: string[] = []
  const drop = async (ids: readonly string[]): Promise<void> => {
    const gone = ids.filter((id) => !kept.has(id))
    await deleteRows(table, gone)
    deleted.push(...gone)
  }
  const documents = new Map<string, { readonly document: string; readonly parts: number }>(
    ends.flatMap((end) => ('parts' in end ? [[`${end.document}#${end.parts + 1}`, end] as const] : [])),
  )
  for (const ids of chunks([...documents.keys()], IDS_PER_QUERY)) {
    for (const id of await idsWhere(table, sqlIds(ids))) {
      const end = documents.get(id)
      if (end !== undefined) await drop((await tailOf(table, end.document, end.parts)).reverse())
    }
  }
  const whole = ends.flatMap((end) => ('source' in end ? [end] : []))
  for (const files of chunks(whole, SOURCES_PER_QUERY)) {
    const prefixes = new Set(files.map(({ prefix }) => prefix))
    const current = new Set(files.flatMap(({ prefix, rest }) => rest.map((one) => prefix + one)))
    const sources = files.map(({ source }) => source)
    const found = await idsWhere(table, sqlIn('source', sources))
    await drop(found.filter((id) => !current.has(id) && prefixes.has(id.slice(0, id.lastIndexOf('#') + 1))))
  }
  return deleted
}

async function tailOf(table: Table, document: string, parts: number): Promise<string[]> {
  const tail: string[] = []
  for (;;) {
    const asked = Array.from({ length: IDS_PER_QUERY }, (_, i) => `${document}#${parts + tail.length + i + 1}`)
    const found = new Set(await idsWhere(table, sqlIds(asked)))
    tail.push(...asked.filter((id) => found.has(id)))
    if (found.size < IDS_PER_QUERY) return tail
  }
}
