import { eventLoopTurn } from '../../base/event-loop-turn.ts'
import type { Table } from '../table/lance.ts'
import { PASSAGE_COLUMNS, passagesIn, passagesOf, stringsIn } from '../table/rows.ts'
import { sqlString } from '../table/write.ts'
import type { Passage, SearchFilter } from '../contract.ts'
import { filtered, sqlFilter } from './filter.ts'

export interface ListOptions {
  /** Only passages with ids after this one. */
  readonly after?: string
  readonly limit: number
  readonly filter?: SearchFilter
}

/** A page of passages ordered by id (UTF-8 code points). */
export async function listPassages(table: Table, { after, limit, filter }: ListOptions): Promise<Passage[]> {
  const where = [sqlFilter(filter), after === undefined ? undefined : `id > ${sqlString(after)}`].filter((one) => one !== undefined)
  let query = table.query().select([...PASSAGE_COLUMNS])
  if (where.length > 0) query = query.where(where.join(' AND '))
  return passagesIn(await query.orderBy({ columnName: 'id', ascending: true, nullsFirst: false }).limit(limit).toArrow())
}

/** All passages of one version of the table, in storage order. */
export async function* exportPassages(table: Table, filter?: SearchFilter): AsyncGenerator<Passage> {
  const turn = eventLoopTurn()
  for await (const batch of filtered(table.query().select([...PASSAGE_COLUMNS]), filter)) {
    const passage = passagesOf(batch)
    for (let row = 0; row < batch.numRows; row++) {
      if (turn.isOver()) await turn.next()
      yield passage(row)
    }
  }
}

/** Passages per source, '' for those without one; largest first. Reads one column of the whole table. */
export async function countSources(table: Table): Promise<{ readonly source: string; readonly passages: number }[]> {
  const counts = new Map<string, number>()
  const turn = eventLoopTurn()
  for await (const batch of table.query().select(['source'])) {
    for (const source of stringsIn(batch, 'source')) counts.set(source, (counts.get(source) ?? 0) + 1)
    if (turn.isOver()) await turn.next()
  }
  return [...counts]
    .map(([source, passages]) => ({ source, passages }))
    .sort((a, b) => b.passages - a.passages || (a.source < b.source ? -1 : 1))
}
