import { at, joined } from '../../base/at.ts'
import { fragmentation } from '../compaction/compact.ts'
import type { TableLocation } from '../contract.ts'
import { contentHash } from '../hash.ts'
import type { WholeFile } from '../read/contract.ts'
import type { Table } from '../table/lance.ts'
import { type Columns, halvesOf, PASSAGE_COLUMNS, passagesOf, type Rows, stringsIn } from '../table/rows.ts'
import type { TableSync } from '../table/table-sync.ts'
import { chunks, deleteRows, idsWhere, mergeRows, removeDoubles, sqlIds, sqlIn } from '../table/write.ts'
import { appendChange } from '../writers/change-log.ts'

/** Small files that make coalescing worthwhile: a search reads each (0.1 to 0.3 ms). Also the number of upserts between two checks. */
export const COALESCE_FILES = 8
/** Most rows to coalesce: they are rewritten until the next index update, and unindexed rows slow down text search in any file. */
const MOST_ROWS = 64

/**
 * Adds the rows of small files to those of an upsert, so that it writes them into its own file. The caller must hold the writer lock, with
 * the table at its newest version.
 */
export async function withSmallFiles(table: Table, rows: Rows, dimension: number): Promise<Rows> {
  // Unindexed fragments are the last ones of the table.
  const left = Math.max(0, ...(await table.listIndices()).map(({ numUnindexedRows }) => numUnindexedRows ?? Infinity))
  if (left < COALESCE_FILES || left > MOST_ROWS || (await fragmentation(table)).surplus < COALESCE_FILES) return rows
  const found = await table
    .query()
    .select([...PASSAGE_COLUMNS, 'vector'])
    .offset((await table.countRows()) - left)
    .limit(left)
    .toArrow()
  const ids = stringsIn(found, 'id')
  // A job repairs duplicate ids.
  if (new Set(ids).size < ids.length) return rows
  const written = new Set(rows.passages.map(({ id }) => id))
  const others = rowsOf(found, { rows: [...ids.keys()].filter((row) => !written.has(at(ids, row))), dimension })
  return {
    passages: [...rows.passages, ...others.passages],
    hashes: [...rows.hashes, ...others.hashes],
    halves: joined(Uint16Array, [rows.halves, others.halves]),
  }
}

/** Passages of a result with all columns, to be written again. @param rows their numbers */
export function rowsOf(found: Columns, { rows, dimension }: { readonly rows: readonly number[]; readonly dimension: number }): Rows {
  const [passages, halvesAt] = [rows.map(passagesOf(found)), halvesOf(found)]
  const halves = new Uint16Array(rows.length * dimension)
  for (const [i, row] of rows.entries()) halves.set(halvesAt(row), i * dimension)
  return { passages, hashes: passages.map(contentHash), halves }
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
  const deleted = await deleteStale(table, ends, job?.later)
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
async function deleteStale(table: Table, ends: readonly DocumentEnd[], kept?: ReadonlySet<string>): Promise<string[]> {
  const deleted: string[] = []
  const drop = async (ids: readonly string[]): Promise<void> => {
    const gone = ids.filter((id) => kept?.has(id) !== true)
    await deleteRows(table, gone)
    deleted.push(...gone)
  }
  const documents = ends.flatMap((end) => ('parts' in end ? [{ ...end, next: `${end.document}#${end.parts + 1}` }] : []))
  for (const some of chunks(documents, IDS_PER_QUERY)) {
    const found = await idsWhere(table, sqlIds(some.map(({ next }) => next)))
    for (const { document, parts, next } of some) if (found.includes(next)) await drop((await tailOf(table, document, parts)).reverse())
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
