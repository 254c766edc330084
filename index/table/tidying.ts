import { cleanTable, compactTable, fragmentation, isWasteful, KEEP_MS } from './compact.ts'
import { lanceText, type Table } from './lance.ts'
import { MOST_SEGMENTS, vectorSegments } from './segments.ts'
import type { TableSync } from './table-sync.ts'

/** Looks at the table while the wanted surplus builds up. */
const LOOKS = 4
/** Time that passes between two compactions, in lengths of the last one: at most a tenth of the time goes into them. */
const PAUSES = 9

/**
 * Rows up to which a service merges the parts of a vector index. Training takes its cores, and then the whole table is written anew, while
 * changes wait (a second for 100,000 rows). Larger tables are left to the next job, or to `cepe index compact`.
 */
const MERGED_ROWS = 2 ** 18

export interface TidyingOptions {
  /** Small fragments from which on the table is compacted. */
  readonly surplus: number
  /** How long replaced files are kept, in milliseconds. */
  readonly keepMs?: number
  readonly onWarning: (message: string) => void
  /** Runs work unless another process does such work: see `upkeep`. */
  readonly upkeep: (work: () => Promise<void>) => Promise<unknown>
}

/** The table and its folder. */
export interface Tidied {
  readonly table: Table
  readonly sync: TableSync
  readonly folder: string
}

/** Looks for files past their time come no closer than this, and no further apart: a timer takes 25 days at most, and the time may be longer. */
const LEAST_LOOK_MS = 1000
const MOST_LOOK_MS = 3_600_000

/**
 * Every upsert leaves a small file, a version and rows that no index covers. Where the table has too many of them,
 * whichever process wrote them, the files are put together, the indexes brought up to date and old files removed.
 */
export class Tidying {
  readonly #options: TidyingOptions
  /** The first write looks: what earlier processes left counts too. */
  #writes = Infinity
  #running: Promise<void> | undefined
  #notBefore = 0
  #watch: NodeJS.Timeout | undefined

  constructor(options: TidyingOptions) {
    this.#options = options
  }

  /** Tells of a write to a table; looks every few writes whether it is time to tidy. */
  wrote(table: Table, sync: TableSync): void {
    if (++this.#writes < this.#options.surplus / LOOKS || this.#running !== undefined || performance.now() < this.#notBefore) return
    this.#writes = 0
    this.#running = this.#tidy(table, sync)
      .catch((error: unknown) => this.#options.onWarning(`${table.storedAs} could not be tidied: ${lanceText(error)}`))
      .finally(() => {
        this.#running = undefined
      })
  }

  /**
   * Removes files past their time also when nobody writes any more: who replaced them, an upsert or a job of any process, could
   * not yet. Holds no process.
   */
  watch(live: () => Promise<Tidied | undefined>): void {
    const { keepMs = KEEP_MS, onWarning, upkeep } = this.#options
    const look = async (): Promise<void> => {
      const found = await live()
      if (found === undefined || this.#running !== undefined || !(await isWasteful(found.table, found.folder, keepMs))) return
      await upkeep(async () => {
        await cleanTable(found.table, keepMs)
        await found.sync.flush()
      })
    }
    let looking = false
    this.#watch = setInterval(
      () => {
        if (looking) return
        looking = true
        look()
          .catch((error: unknown) => onWarning(`Files past their time could not be removed: ${lanceText(error)}`))
          .finally(() => {
            looking = false
          })
      },
      Math.min(MOST_LOOK_MS, Math.max(LEAST_LOOK_MS, keepMs)),
    ).unref()
  }

  close(): void {
    clearInterval(this.#watch)
  }

  async #tidy(table: Table, sync: TableSync): Promise<void> {
    const { surplus, keepMs = KEEP_MS, upkeep } = this.#options
    if ((await fragmentation(table)).surplus < surplus) return
    const from = performance.now()
    const merge = (await vectorSegments(table)) >= MOST_SEGMENTS && (await table.countRows()) <= MERGED_ROWS
    await upkeep(() => compactTable(table, sync, { keepMs, mostSegments: merge ? 1 : Infinity }))
    this.#notBefore = performance.now() + PAUSES * (performance.now() - from)
  }
}
