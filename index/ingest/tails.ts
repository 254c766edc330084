import type { Table } from '../table/lance.ts'
import { sqlIds, sqlIn } from '../table/sql.ts'
import { chunks, deleteRows, idsWhere } from '../table/write.ts'
import type { PlannedRow } from './plan/plan.ts'

const IDS_PER_QUERY = 1000
const SOURCES_PER_QUERY = 500

/**
 * Deletes stale passages of split documents: `doc#4` and later if `doc` now has three. Numbers are consecutive, and the last are deleted
 * first, so that this holds after a kill. The caller must hold the table's writer lock.
 * @returns the ids deleted
 */
export async function dropTails(table: Table, rows: readonly PlannedRow[]): Promise<string[]> {
  const ends = new Map<string, { readonly document: string; readonly parts: number }>(
    rows.flatMap(({ passage: { id }, parts }) => {
      if (parts === undefined) return []
      const document = id.slice(0, id.lastIndexOf('#'))
      return [[`${document}#${parts + 1}`, { document, parts }] as const]
    }),
  )
  const deleted: string[] = []
  for (const ids of chunks([...ends.keys()], IDS_PER_QUERY)) {
    for (const id of await present(table, ids)) {
      const end = ends.get(id)
      if (end === undefined) continue
      const tail = (await tailOf(table, end.document, end.parts)).reverse()
      await deleteRows(table, tail)
      deleted.push(...tail)
    }
  }
  return deleted
}

/**
 * Deletes passages of the files' sources that files created and that are not in the plan. The caller must hold the table's writer lock.
 * @returns the ids deleted
 */
export async function dropReplaced(table: Table, rows: readonly PlannedRow[]): Promise<string[]> {
  const deleted: string[] = []
  for (const files of chunks(
    rows.flatMap(({ whole }) => whole ?? []),
    SOURCES_PER_QUERY,
  )) {
    const prefixes = files.map(({ prefix }) => prefix)
    const kept = new Set(files.flatMap(({ prefix, rest }) => rest.map((one) => prefix + one)))
    const found = await idsWhere(
      table,
      sqlIn(
        'source',
        files.map(({ source }) => source),
      ),
    )
    const ofFiles = new Set(prefixes)
    const gone = found.filter((id) => !kept.has(id) && ofFiles.has(id.slice(0, id.lastIndexOf('#') + 1)))
    await deleteRows(table, gone)
    deleted.push(...gone)
  }
  return deleted
}

async function tailOf(table: Table, document: string, parts: number): Promise<string[]> {
  const tail: string[] = []
  for (;;) {
    const asked = Array.from({ length: IDS_PER_QUERY }, (_, i) => `${document}#${parts + tail.length + i + 1}`)
    const found = await present(table, asked)
    tail.push(...asked.filter((id) => found.has(id)))
    if (found.size < IDS_PER_QUERY) return tail
  }
}

async function present(table: Table, ids: readonly string[]): Promise<Set<string>> {
  return new Set(await idsWhere(table, sqlIds(ids)))
}
