import { compactTable, fragmentation, KEEP_MS } from './compact.ts'
import { lanceText, type Table } from './lance.ts'
import type { TableSync } from './table-sync.ts'

/** Looks at the table while the wanted surplus builds up. */
const LOOKS = 4
/** Time that passes between two compactions, in lengths of the last one: at most a tenth of the time goes into them. */
const PAUSES = 9

export interface TidyingOptions {
  /** Small fragments from which on the table is compacted. */
  readonly surplus: number
  /** How long replaced files are kept, in milliseconds. */
  readonly keepMs?: number
  readonly onWarning: (message: string) => void
}

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

  async #tidy(table: Table, sync: TableSync): Promise<void> {
    const { surplus, keepMs = KEEP_MS } = this.#options
    if ((await fragmentation(table)).surplus < surplus) return
    const from = performance.now()
    await compactTable(table, sync, keepMs)
    this.#notBefore = performance.now() + PAUSES * (performance.now() - from)
  }
}
