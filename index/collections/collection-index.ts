import { CodedError } from '../../base/errors.ts'
import type { EmbeddingModel, Models, SearchFilter } from '../contract.ts'
import type { PassageIndex } from '../passage-index.ts'
import { checkFolder } from '../versions/alias.ts'
import { unknownCollection } from './contract.ts'

interface OpenTable {
  readonly opening: Promise<PassageIndex>
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

/** A table that is opened on use and may be closed between two calls. */
export class CollectionIndex implements PassageIndex {
  readonly dir: string
  readonly table: string
  readonly model: EmbeddingModel
  readonly furtherModels: readonly EmbeddingModel[]
  readonly #tables: OpenTables
  #behind: CodedError | undefined
  readonly view = () => this.#use((table) => table.view())
  readonly writtenWith = () => this.#use((table) => table.writtenWith())
  readonly check = () => this.#use((table) => table.check())
  readonly sources = () => this.#use((table) => table.sources())
  readonly version = () => this.#use((table) => table.version())
  readonly info = () => this.#use((table) => table.info())
  readonly refresh = () => this.#use((table) => table.refresh())
  readonly get = (...given: Parameters<PassageIndex['get']>) => this.#use((table) => table.get(...given))
  readonly changed = (...given: Parameters<PassageIndex['changed']>) => this.#use((table) => table.changed(...given))
  readonly upsert = (...given: Parameters<PassageIndex['upsert']>) => this.#use((table) => table.upsert(...given))
  readonly delete = (...given: Parameters<PassageIndex['delete']>) => this.#use((table) => table.delete(...given))
  readonly count = (...given: Parameters<PassageIndex['count']>) => this.#use((table) => table.count(...given))
  readonly list = (...given: Parameters<PassageIndex['list']>) => this.#use((table) => table.list(...given))
  readonly titles = (...given: Parameters<PassageIndex['titles']>) => this.#use((table) => table.titles(...given))

  constructor(tables: OpenTables, { dir, table, model, furtherModels = [] }: Pick<PassageIndex, 'dir' | 'table'> & Models) {
    this.dir = dir
    this.table = table
    this.model = model
    this.furtherModels = furtherModels
    this.#tables = tables
  }

  /** State of the last call. */
  behind() {
    return this.#behind
  }

  async *export(filter?: SearchFilter) {
    try {
      yield* this.#tables.read(this.table, (table) => table.export(filter))
    } catch (error) {
      throw await this.#described(error)
    }
  }

  /** No-op: the table is closed with the collections. */
  close(): void {
    return
  }

  async #use<T>(work: (table: PassageIndex) => Promise<T>): Promise<T> {
    try {
      return await this.#tables.use(this.table, async (table) => {
        const result = await work(table)
        this.#behind = table.behind()
        return result
      })
    } catch (error) {
      throw await this.#described(error)
    }
  }

  /** Converts the error for a table that was removed to unknown_collection, unless the folder of the index has disappeared. */
  async #described(error: unknown): Promise<unknown> {
    if (!(error instanceof CodedError) || error.code !== 'index_missing') return error
    this.#tables.drop(this.table)
    return checkFolder(this.dir).then(
      () => unknownCollection(this.table),
      () => error,
    )
  }
}
