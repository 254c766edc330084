import { lanceText } from '../../base/failures.ts'
import { at } from '../../base/at.ts'
import type { SearchPolicy } from '../search/ann.ts'
import { appendChange } from '../writers/change-log.ts'
import { compactTable, fragmentation, KEEP_MS, orLater } from '../compaction/compact.ts'
import { type Connection, type Table } from '../table/lance.ts'
import { arrowTable } from '../table/rows.ts'
import type { TableSync } from '../table/table-sync.ts'
import { withWriterLock } from '../writers/writer-lock.ts'
import { withMaintenanceLock } from '../writers/maintenance-lock.ts'
import { appendRows } from '../table/write.ts'
import type { Embed, EmbeddingModel } from '../contract.ts'
import type { Additions } from './additions.ts'
import { prefetchOne, WriteBehind } from './one-behind.ts'
import type { Counters, Plan } from './plan/contract.ts'
import type { JournalWriter, Progress, Target } from './journal.ts'
import { readShard, type PlannedRow } from './plan/plan.ts'
import { prepareShard, type PreparedShard } from './shard.ts'
import { dropReplaced, dropTails } from './tails.ts'
import { rollbackUnreadable } from '../versions/rollback-unreadable.ts'
import { verifyShard } from './verify.ts'

/** Fragments of committed shards that are compacted at a time. */
const COMPACT_AFTER = 64

export interface WriterParts {
  readonly options: {
    readonly dir: string
    readonly table: string
    readonly jobId: string
    readonly folder: string
    readonly model: EmbeddingModel
    readonly embed: Embed
    readonly readyVectors?: (shard: number, rows: readonly PlannedRow[]) => Promise<Uint16Array>
    readonly policy?: Partial<SearchPolicy>
    readonly byContent?: boolean | undefined
    readonly onWarning?: (message: string) => void
    readonly signal: AbortSignal
  }
  readonly plan: Plan
  readonly target: Target
  /** Progress of the job when it started or resumed. */
  readonly before: Progress
  readonly journal: JournalWriter
  readonly connection: Connection
  readonly table: Table
  /** Table of the same model that vectors are taken over from. */
  readonly previous: Table | undefined
  readonly sync: TableSync
  readonly additions: Additions
  /** Changed as shards are embedded and committed, and `report` called. */
  readonly counters: Counters
  readonly report: () => void
}

/**
 * Takes the shards of a plan that are left into the table, in their order: while one is written the next is made ready and, in a
 * table of the job's own, the one before is forced onto the disk.
 */
export class ShardWriter {
  readonly #parts: WriterParts
  readonly #behind = new WriteBehind()

  constructor(parts: WriterParts) {
    this.#parts = parts
  }

  /** @throws what the embedder throws; disk_full, conflict or index_invalid; the signal's reason once aborted. */
  async write(): Promise<void> {
    const { table, target, sync, options } = this.#parts
    const { signal, policy } = options
    const known = await this.#trusted()
    const remaining = [...this.#parts.plan.shard_rows.keys()].filter(
      (number) => known.get(number)?.state !== (target.replace ? 'committed' : 'verified'),
    )
    let commits = COMPACT_AFTER - 1
    try {
      for await (const shard of prefetchOne(remaining, (number) => this.#prepare(number, known.has(number)))) {
        await this.#commit(shard)
        if (++commits >= COMPACT_AFTER) {
          commits = 0
          await this.#behind.ended()
          await compactWritten(table, sync, { ...policy, ...(target.replace ? {} : { live: options }), least: COMPACT_AFTER })
        }
        signal.throwIfAborted()
      }
    } finally {
      await this.#behind.ended()
    }
  }

  /** @param known true if the table may have the shard already, or parts of it */
  async #prepare(number: number, known: boolean): Promise<PreparedShard> {
    const { options, plan, target, table, previous, additions, journal, counters, report } = this.#parts
    const { model, embed, folder, signal, readyVectors, byContent } = options
    signal.throwIfAborted()
    const rows = await readShard(folder, number, plan)
    const ids = rows.map(({ passage }) => passage.id)
    if (!target.replace) await additions.expect(table, number, ids)
    const shard = await prepareShard(number, rows, {
      dimension: model.dimension,
      embed,
      present: !target.replace || known ? table : undefined,
      previous: target.replace ? previous : table,
      byContent,
      ready: await readyVectors?.(number, rows),
      signal,
      onEmbedded: (count) => {
        counters.embedded += count
        report()
      },
    })
    if (!this.#isPresent(shard)) await journal.add({ step: 'embedded', shard: number, embedded: shard.embedded, skipped: shard.skipped })
    return target.replace ? { ...shard, source: arrowTable(shard.rows, model.dimension) } : shard
  }

  /**
   * Shards that need not be looked at again. In a table of the job's own the number of rows tells whether the journal is
   * right: after a damaged manifest was put aside it may not be, and then every shard is looked up.
   */
  async #trusted(): Promise<ReadonlyMap<number, { readonly state: string }>> {
    const { options, plan, target, table, before } = this.#parts
    const { shards } = before
    if (!target.replace) return shards
    const states = [...shards].map(([number, { state }]) => ({ number, state: state === 'verified' ? 'committed' : state }))
    const committed = states.filter(({ state }) => state === 'committed')
    const expected = committed.reduce((sum, { number }) => sum + at(plan.shard_rows, number), 0)
    const damage = await rollbackUnreadable(table, expected)
    if (damage !== undefined)
      options.onWarning?.(
        `The last rows could not be read (${lanceText(damage)}), for example after a power loss. They were rolled back and are written again.`,
      )
    let surplus = (await table.countRows()) - expected
    // Shards are written in the plan's order, so that those in the table are the first of those that the journal leaves open.
    const open = states.filter(({ state }) => state === 'embedded').sort((a, b) => a.number - b.number)
    for (const { number } of open) if (surplus > 0) surplus -= at(plan.shard_rows, number)
    const consistent = surplus === 0
    return new Map(states.map(({ number, state }) => [number, { state: consistent ? state : 'embedded' }]))
  }

  /** Committed before a kill, without the journal saying so yet. */
  #isPresent({ number, planned }: PreparedShard): boolean {
    return planned.length === 0 && this.#parts.before.shards.has(number)
  }

  async #commit(shard: PreparedShard): Promise<void> {
    const { options, target, table, sync, additions, journal, connection } = this.#parts
    const { number, planned, rows, source } = shard
    if (target.replace) {
      if (planned.length > 0) await appendRows(table, rows, options.model.dimension, source)
      return this.#behind.next(async () => {
        const force = await sync.written()
        return async () => {
          await force()
          await journal.add({ step: 'committed', shard: number })
          this.#committed(shard)
        }
      })
    }
    const present = this.#isPresent(shard)
    const added = present ? undefined : await additions.commit(table, shard)
    await this.#dropTails(shard)
    if (present) {
      await sync.flush()
      await additions.confirm(number)
    }
    await journal.add({ step: 'committed', shard: number })
    if (added?.version !== undefined) await verifyShard(connection, target.storedAs, added.version, added.planned)
    await journal.add({ step: 'verified', shard: number })
    this.#committed(shard)
  }

  /** Counts a shard that is in the table and on the disk. */
  #committed(shard: PreparedShard): void {
    const { counters, report } = this.#parts
    const { number, size, skipped } = shard
    const before = this.#parts.before.shards.get(number)
    if (!this.#isPresent(shard)) {
      counters.skipped += skipped - (before?.skipped ?? 0)
      if (before !== undefined) counters.embedded -= before.embedded
    }
    if (before === undefined || before.state === 'embedded') counters.committed += size
    report()
  }

  /** What documents had more of before: only in a table that was there before. */
  async #dropTails({ ends }: PreparedShard): Promise<void> {
    const { options, table, sync } = this.#parts
    if (ends.length === 0) return
    const { dir, table: name, jobId } = options
    await withWriterLock(dir, name, async () => {
      await table.checkoutLatest()
      const deleted = [...(await dropTails(table, ends)), ...(await dropReplaced(table, ends))]
      if (deleted.length === 0) return
      await sync.flush()
      await appendChange(dir, name, { ids: deleted }, jobId)
    })
  }
}

/**
 * Keeps the number of fragments, and with it the length of every version's manifest, bounded: a version lists them all.
 * Old files of a table of the job's own, which nobody else reads, go at once; one in service is left alone where another process is at it.
 * @param options `live`: the table in service; `least`: fragments beyond a compacted table's that are worth it
 */
export async function compactWritten(
  table: Table,
  sync: TableSync,
  { keepMs = KEEP_MS, live, least }: { readonly keepMs?: number; readonly live?: LiveName; readonly least: number },
): Promise<void> {
  if ((await fragmentation(table)).surplus < least) return
  const compact = (keepMs: number) => () => compactTable(table, sync, { keepMs, mostSegments: Infinity })
  if (live === undefined) return compact(0)()
  const { dir, table: name, signal, onWarning = () => undefined } = live
  await withMaintenanceLock(dir, name, { waitMs: 0, signal }, () => orLater(compact(keepMs), onWarning))
}

interface LiveName {
  readonly dir: string
  readonly table: string
  readonly signal: AbortSignal
  readonly onWarning?: (message: string) => void
}
