import type { Table } from '../table/lance.ts'
import { sqlIds, sqlIn } from '../table/sql.ts'
import { chunks, deleteRows, idsWhere } from '../table/write.ts'
import type { PlannedRow } from './plan/plan.ts'

const STEP = 1000
const SOURCES_STEP = 500

/**
 * Deletes the passages that documents which were cut had more of before: `doc#4` and on where `doc` now has three.
 * Numbers of a document's passages have no gaps; what is cut off last is deleted first, so that this stays so after a kill.
 * The caller must hold the table's writer lock.
 * @returns the ids deleted.
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
  for (const ids of chunks([...ends.keys()], STEP)) {
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
 * Deletes what files gave before and no longer have: passages of their sources whose ids files made, and that are not in the plan.
 * The caller must hold the table's writer lock.
 * @returns the ids deleted.
 */
export async function dropReplaced(table: Table, rows: readonly PlannedRow[]): Promise<string[]> {
  const deleted: string[] = []
  for (const files of chunks(
    rows.flatMap(({ whole }) => whole ?? []),
    SOURCES_STEP,
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
    const asked = Array.from({ length: STEP }, (_, i) => `${document}#${parts + tail.length + i + 1}`)
    const found = await present(table, asked)
    tail.push(...asked.filter((id) => found.has(id)))
    if (found.size < STEP) return tail
  }
}

async function present(table: Table, ids: readonly string[]): Promise<Set<string>> {
  return new Set(await idsWhere(table, sqlIds(ids)))
}
