import { at } from '../../base/at.ts'
import { appendChange, type ChangeLog } from '../writers/change-log.ts'
import type { Table } from '../table/lance.ts'
import type { TableSync } from '../table/table-sync.ts'
import { withWriterLock } from '../writers/writer-lock.ts'
import { doubledIds, mergeRows, removeDoubles } from '../table/write.ts'
import type { PlannedRow } from './plan/plan.ts'
import type { PreparedShard } from './shard.ts'

export interface AdditionsOptions {
  readonly dir: string
  readonly table: string
  readonly jobId: string
  readonly dimension: number
  readonly changeLog: ChangeLog
  readonly sync: TableSync
}

/** A job's commits into the live table, each under the table's writer lock. */
export class Additions {
  readonly #options: AdditionsOptions
  /** Ids of shards in progress. */
  readonly #ids = new Map<number, readonly string[]>()
  /** Passages skipped because they were changed after the job was ordered. */
  leftOut = 0
  /** Rows removed because a newer row has the same id. */
  doubles = 0

  constructor(options: AdditionsOptions) {
    this.#options = options
  }

  /** Called before a shard is looked up: removes duplicate rows of its ids, with which it could never match the plan. */
  async expect(table: Table, number: number, ids: readonly string[]): Promise<void> {
    const { dir, table: name, sync } = this.#options
    this.#ids.set(number, ids)
    const doubled = await doubledIds(table, ids)
    if (doubled.length === 0) return
    await withWriterLock(dir, name, async () => {
      await table.checkoutLatest()
      this.doubles += await removeDoubles(table, doubled)
      await sync.flush()
    })
  }

  /**
   * Commits the changed rows of a shard, except ids changed since the job was ordered.
   * @returns the rows written, for verification
   */
  async commit(
    table: Table,
    shard: PreparedShard,
  ): Promise<{ readonly version: number | undefined; readonly planned: readonly PlannedRow[] }> {
    const { dir, table: name, dimension, changeLog, sync } = this.#options
    return withWriterLock(dir, name, async () => {
      await table.checkoutLatest()
      await changeLog.read()
      const kept = [...shard.planned.entries()].flatMap(([row, { passage }]) => (changeLog.ids.has(passage.id) ? [] : [row]))
      this.leftOut += shard.planned.length - kept.length
      const rest = kept.length === shard.planned.length ? shard : picked(shard, kept, dimension)
      const version = rest.planned.length === 0 ? undefined : await mergeRows(table, rest.rows, dimension)
      if (version !== undefined) await sync.flush()
      await this.#note(shard.number)
      return { version, planned: rest.planned }
    })
  }

  /** Records a shard that is already in the table, in case earlier jobs were not notified. */
  confirm(shard: number): Promise<void> {
    const { dir, table } = this.#options
    return withWriterLock(dir, table, () => this.#note(shard))
  }

  async #note(shard: number): Promise<void> {
    const { dir, table, jobId, changeLog } = this.#options
    const ids = (this.#ids.get(shard) ?? []).filter((id) => !changeLog.ids.has(id))
    this.#ids.delete(shard)
    if (ids.length > 0) await appendChange(dir, table, { ids }, jobId)
  }
}

function picked(shard: PreparedShard, kept: readonly number[], dimension: number): Pick<PreparedShard, 'planned' | 'rows'> {
  const halves = new Uint16Array(kept.length * dimension)
  for (const [to, from] of kept.entries()) halves.set(shard.rows.halves.subarray(from * dimension, (from + 1) * dimension), to * dimension)
  const planned = kept.map((from) => at(shard.planned, from))
  return { planned, rows: { passages: planned.map((row) => row.passage), hashes: planned.map((row) => row.hash), halves } }
}
