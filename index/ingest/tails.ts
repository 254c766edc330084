import type { Table } from '../table/lance.ts'
import { sqlIds } from '../table/sql.ts'
import { chunks, deleteRows, idsWhere } from '../table/write.ts'
import type { PlannedRow } from './plan/plan.ts'

const STEP = 1000

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
