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
  /** Ids of shards that are on their way. */
  readonly #ids = new Map<number, readonly string[]>()
  /** Passages that were left as they are, since they were changed after the job was ordered. */
  leftOut = 0
  /** Rows removed, each beside a newer one of the same id. */
  doubles = 0

  constructor(options: AdditionsOptions) {
    this.#options = options
  }

  /** Before a shard is looked up: an id that several rows have would never come to be as planned. */
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

  /** Commits what of a shard has to be written, and nobody changed since the job was ordered. @returns what was written, for its verification. */
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

  /** For a shard that is in the table, perhaps without the earlier jobs having been told. */
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
