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

/** Number of committed shards after which fragments are compacted. */
const COMPACT_AFTER = 64

export interface WriterParts {
  readonly options: {
    readonly dir: string
    readonly table: string
    readonly jobId: string
    readonly folder: string
    readonly model: EmbeddingModel
    readonly embed: Embed
    readonly readyVectors?: ((shard: number, rows: readonly PlannedRow[]) => Promise<Uint16Array>) | undefined
    readonly policy?: Partial<SearchPolicy> | undefined
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
  /** Table of the same model from which vectors are copied. */
  readonly previous: Table | undefined
  readonly sync: TableSync
  readonly additions: Additions
  /** Updated as shards are embedded and committed, with a call of `report`. */
  readonly counters: Counters
  readonly report: () => void
}

/**
 * Writes the remaining shards of a plan in order, as a pipeline: while one is written, the next is prepared and, in a job's own table, the
 * previous one is fsynced.
 */
export class ShardWriter {
  readonly #parts: WriterParts
  readonly #behind = new WriteBehind()

  constructor(parts: WriterParts) {
    this.#parts = parts
  }

  /** @throws errors of the embedder; disk_full, conflict or index_invalid; the signal's reason once aborted */
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

  /** @param known true if the table may contain the shard, or a part of it */
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
   * Returns the shards that need no further check. In a job's own table the row count confirms the journal; after a damaged manifest was
   * quarantined it may not, and then every shard is looked up.
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
    // Shards are written in the plan's order, so those in the table are the first of those without a `committed` entry.
    const open = states.filter(({ state }) => state === 'embedded').sort((a, b) => a.number - b.number)
    for (const { number } of open) if (surplus > 0) surplus -= at(plan.shard_rows, number)
    const consistent = surplus === 0
    return new Map(states.map(({ number, state }) => [number, { state: consistent ? state : 'embedded' }]))
  }

  /** True if the shard was committed before a kill but not recorded in the journal. */
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

  /** Counts a durable shard. */
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

  /** Deletes stale passages of documents, in a table that existed before. */
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
 * Bounds the number of fragments, and with it the size of every version's manifest, which lists them all. Old files of a job's own table,
 * which has no readers, are removed at once; a live table is skipped while another process maintains it.
 * @param options `live`: the live table; `least`: minimum of excess fragments
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
