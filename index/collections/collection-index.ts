import { CodedError } from '../../base/errors.ts'
import type { EmbeddingModel, Models, Passage, SearchFilter, SearchOptions } from '../contract.ts'
import type { PassageIndex, UpsertOptions } from '../passage-index.ts'
import type { ListOptions } from '../search/list.ts'
import { checkFolder } from '../versions/alias.ts'
import { unknownCollection } from './contract.ts'

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

/** A table that is opened on use and may be closed between two calls. */
export class CollectionIndex implements PassageIndex {
  readonly dir: string
  readonly table: string
  readonly model: EmbeddingModel
  readonly furtherModels: readonly EmbeddingModel[]
  readonly #tables: OpenTables
  #behind: CodedError | undefined

  constructor(tables: OpenTables, { dir, table, model, furtherModels = [] }: Pick<PassageIndex, 'dir' | 'table'> & Models) {
    this.dir = dir
    this.table = table
    this.model = model
    this.furtherModels = furtherModels
    this.#tables = tables
  }

  view() {
    return this.#use((table) => table.view())
  }

  search(vector: Float32Array, options: SearchOptions) {
    return this.#use((table) => table.search(vector, options))
  }

  searchText(query: string, options: SearchOptions) {
    return this.#use((table) => table.searchText(query, options))
  }

  searchHybrid(query: string, vector: Float32Array, options: SearchOptions) {
    return this.#use((table) => table.searchHybrid(query, vector, options))
  }

  writtenWith() {
    return this.#use((table) => table.writtenWith())
  }

  /** State of the last call. */
  behind() {
    return this.#behind
  }

  check() {
    return this.#use((table) => table.check())
  }

  get(id: string) {
    return this.#use((table) => table.get(id))
  }

  changed(passages: readonly Passage[]) {
    return this.#use((table) => table.changed(passages))
  }

  upsert(passages: readonly Passage[], vectors: readonly Float32Array[], options?: UpsertOptions) {
    return this.#use((table) => table.upsert(passages, vectors, options))
  }

  delete(which: readonly string[] | SearchFilter) {
    return this.#use((table) => table.delete(which))
  }

  count(filter?: SearchFilter) {
    return this.#use((table) => table.count(filter))
  }

  list(options: ListOptions) {
    return this.#use((table) => table.list(options))
  }

  async *export(filter?: SearchFilter) {
    try {
      yield* this.#tables.read(this.table, (table) => table.export(filter))
    } catch (error) {
      throw await this.#described(error)
    }
  }

  sources() {
    return this.#use((table) => table.sources())
  }

  titles(count: number) {
    return this.#use((table) => table.titles(count))
  }

  version() {
    return this.#use((table) => table.version())
  }

  info() {
    return this.#use((table) => table.info())
  }

  refresh() {
    return this.#use((table) => table.refresh())
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
