import { lanceText } from '../../base/failures.ts'
import { cleanTable, compactTable, fragmentation, isWasteful, KEEP_MS, MOST_SEGMENTS, vectorSegments } from './compact.ts'
import type { Table } from '../table/lance.ts'
import { areWordsIndexed, indexWords } from '../table/words.ts'
import { withMaintenanceLock } from '../writers/locks.ts'
import type { TableLocation } from '../contract.ts'
import type { TableSync } from '../table/table-sync.ts'

/** Checks per `surplus` writes. */
const CHECKS = 4
/** Pause between compactions, in multiples of the last one's duration: at most a tenth of the time is spent on them. */
const PAUSE_FACTOR = 9

/**
 * Rows up to which a service merges the segments of a vector index. Training takes all cores, then the table is rewritten while writers
 * wait (a second for 100,000 rows). Larger tables are left to the next job or to `cepe index compact`.
 */
const MERGED_ROWS = 2 ** 18

interface BackgroundCompactionOptions {
  /** Number of small fragments that triggers a compaction. */
  readonly surplus: number
  /** How long replaced files are kept, in milliseconds. */
  readonly keepMs?: number | undefined
  readonly onWarning: (message: string) => void
}

/**
 * Rows up to which a service indexes the words of every write. LanceDB scores words of rows that are not indexed by the frequencies among
 * these, or among those that a filter leaves. Building the index anew takes a second; larger tables are left to compaction.
 */
const INDEXED_ROWS = 20_000
/** Pause after the last write before words are indexed. */
const SETTLED_MS = 1000

/** Bounds of the interval between checks for expired files: a timer takes 25 days at most, and retention may be longer. */
const MIN_CHECK_MS = 1000
const MAX_CHECK_MS = 3_600_000

/**
 * Compacts a table in the background. Every upsert adds a small file, a version and unindexed rows. Above a threshold, whichever process
 * wrote them, files are compacted, indexes updated and expired files removed.
 */
export class BackgroundCompaction {
  readonly #location: TableLocation
  readonly #options: BackgroundCompactionOptions
  /** Infinity, so that the first write checks: fragments of earlier processes count too. */
  #writes = Infinity
  #running: Promise<void> | undefined
  #notBefore = 0
  #settling: NodeJS.Timeout | undefined
  #wordsNotBefore = 0
  #watch: NodeJS.Timeout | undefined

  constructor(location: TableLocation, options: BackgroundCompactionOptions) {
    this.#location = location
    this.#options = options
  }

  /** Counts a write to a table; every few writes, checks whether to compact. */
  noteWrite(table: Table, sync: TableSync): void {
    clearTimeout(this.#settling)
    const wait = Math.max(SETTLED_MS, this.#wordsNotBefore - performance.now())
    this.#settling = setTimeout(() => this.#indexNewWords(table, sync), wait).unref()
    if (++this.#writes < this.#options.surplus / CHECKS || this.#running !== undefined || performance.now() < this.#notBefore) return
    this.#writes = 0
    this.#run(`${table.storedAs} could not be compacted`, () => this.#compact(table, sync))
  }

  /** Removes expired files even without further writes. Does not keep the process alive. */
  watch(live: () => Promise<{ readonly table: Table; readonly sync: TableSync } | undefined>): void {
    const { keepMs = KEEP_MS } = this.#options
    const look = async (): Promise<void> => {
      const found = await live()
      if (found === undefined || !(await isWasteful(found.table, keepMs))) return
      await this.#alone(async () => {
        await cleanTable(found.table, keepMs)
        await found.sync.flush()
      })
    }
    const everyMs = Math.min(MAX_CHECK_MS, Math.max(MIN_CHECK_MS, keepMs))
    this.#watch = setInterval(() => this.#run('Expired files could not be removed', look), everyMs).unref()
  }

  close(): void {
    clearInterval(this.#watch)
    clearTimeout(this.#settling)
  }

  /** One task at a time; does nothing while another one runs. */
  #run(failure: string, work: () => Promise<void>): void {
    this.#running ??= work()
      .catch((error: unknown) => this.#options.onWarning(`${failure}: ${lanceText(error)}`))
      .finally(() => {
        this.#running = undefined
      })
  }

  /** Left out while another process maintains the table. */
  #alone(work: () => Promise<void>): Promise<boolean> {
    return withMaintenanceLock(this.#location, { waitMs: 0 }, work)
  }

  #indexNewWords(table: Table, sync: TableSync): void {
    const index = async (): Promise<void> => {
      if ((await table.countRows()) > INDEXED_ROWS || (await areWordsIndexed(table))) return
      const from = performance.now()
      await this.#alone(async () => {
        await indexWords(table)
        await sync.flush()
      })
      this.#wordsNotBefore = performance.now() + PAUSE_FACTOR * (performance.now() - from)
    }
    void index().catch((error: unknown) => this.#options.onWarning(`Words of ${table.storedAs} could not be indexed: ${lanceText(error)}`))
  }

  async #compact(table: Table, sync: TableSync): Promise<void> {
    const { surplus, keepMs = KEEP_MS } = this.#options
    if ((await fragmentation(table)).surplus < surplus) return
    const from = performance.now()
    const merge = (await vectorSegments(table)) >= MOST_SEGMENTS && (await table.countRows()) <= MERGED_ROWS
    await this.#alone(() => compactTable(table, sync, keepMs, merge ? 1 : Infinity))
    this.#notBefore = performance.now() + PAUSE_FACTOR * (performance.now() - from)
  }
}
