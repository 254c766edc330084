import { lanceText } from './lance.ts'
import { writing, type Table } from './lance.ts'

/**
 * Every upsert leaves a small file, a version and rows that no index covers. After a number of them the files are put
 * together, the indexes brought up to date and versions older than a week removed, beside reads and writes.
 */
export class Tidying {
  readonly #after: number
  readonly #onWarning: (message: string) => void
  #writes = 0
  #running = false

  constructor(after: number, onWarning: (message: string) => void) {
    this.#after = after
    this.#onWarning = onWarning
  }

  /** Counts a write to a table, and tidies it if it is time. */
  wrote(table: Table): void {
    if (++this.#writes < this.#after || this.#running) return
    this.#writes = 0
    this.#running = true
    writing(table, () => table.optimize())
      .catch((error: unknown) => this.#onWarning(`${table.storedAs} could not be tidied: ${lanceText(error)}`))
      .finally(() => {
        this.#running = false
      })
  }
}
