import type { PassageIndex } from '../passage-index.ts'

interface OpenTable {
  readonly opening: Promise<PassageIndex>
  /** Calls in progress. */
  uses: number
  /** To be closed after its last call. */
  dropped: boolean
}

/**
 * Cache of open tables by name. Beyond `most`, the least recently used ones are closed. A table in use is never closed, so that there may
 * temporarily be more.
 */
export class OpenTables {
  readonly #most: number
  readonly #openOne: (name: string) => Promise<PassageIndex>
  /** In order of last use. */
  readonly #tables = new Map<string, OpenTable>()

  constructor(most: number, openOne: (name: string) => Promise<PassageIndex>) {
    this.#most = most
    this.#openOne = openOne
  }

  get size(): number {
    return this.#tables.size
  }

  /** Calls `work` with a table, opening it if necessary. Concurrent calls share one opening; a failed one is retried by the next call. */
  async use<T>(name: string, work: (table: PassageIndex) => Promise<T>): Promise<T> {
    const table = this.#take(name)
    try {
      return await work(await table.opening)
    } finally {
      this.#give(table)
    }
  }

  /** Like `use`, for a generator that reads the table. */
  async *read<T>(name: string, work: (table: PassageIndex) => AsyncGenerator<T>): AsyncGenerator<T> {
    const table = this.#take(name)
    try {
      yield* work(await table.opening)
    } finally {
      this.#give(table)
    }
  }

  /** Closes a table once it is unused; the next use opens it again. */
  drop(name: string): void {
    const table = this.#tables.get(name)
    if (table === undefined) return
    this.#tables.delete(name)
    table.dropped = true
    if (table.uses === 0) close(table)
  }

  close(): void {
    for (const name of [...this.#tables.keys()]) this.drop(name)
  }

  #take(name: string): OpenTable {
    const table = this.#tables.get(name) ?? this.#begin(name)
    table.uses++
    this.#tables.delete(name)
    this.#tables.set(name, table)
    return table
  }

  #begin(name: string): OpenTable {
    const table = { opening: this.#openOne(name), uses: 0, dropped: false }
    table.opening.catch(() => {
      if (this.#tables.get(name) === table) this.drop(name)
    })
    return table
  }

  #give(table: OpenTable): void {
    table.uses--
    if (table.uses === 0 && table.dropped) close(table)
    for (const [name, { uses }] of this.#tables) {
      if (this.#tables.size <= this.#most) return
      if (uses === 0) this.drop(name)
    }
  }
}

function close({ opening }: OpenTable): void {
  opening.then(
    (table) => table.close(),
    () => undefined,
  )
}
