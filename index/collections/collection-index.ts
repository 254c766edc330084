import { CodedError } from '../../base/errors.ts'
import type { Models, SearchFilter } from '../contract.ts'
import type { PassageIndex } from '../passage-index.ts'

interface OpenTable {
  readonly opening: Promise<PassageIndex>
  uses: number
  /** To be closed after its last call. */
  dropped: boolean
}

export type TableCache = ReturnType<typeof tableCache>

/** Cache of open tables by name. Beyond `most`, the least recently used are closed, but none in use: there may temporarily be more. */
export function tableCache(most: number, openOne: (name: string) => Promise<PassageIndex>) {
  /** In order of last use. */
  const tables = new Map<string, OpenTable>()
  /** Closes a table once it is unused; the next use opens it again. */
  const drop = (name: string): void => {
    const table = tables.get(name)
    if (table === undefined) return
    tables.delete(name)
    table.dropped = true
    if (table.uses === 0) close(table)
  }
  const begin = (name: string): OpenTable => {
    const table = { opening: openOne(name), uses: 0, dropped: false }
    table.opening.catch(() => {
      if (tables.get(name) === table) drop(name)
    })
    return table
  }
  const take = (name: string): OpenTable => {
    const table = tables.get(name) ?? begin(name)
    table.uses++
    tables.delete(name)
    tables.set(name, table)
    return table
  }
  const give = (table: OpenTable): void => {
    table.uses--
    if (table.uses === 0 && table.dropped) close(table)
    for (const [name, { uses }] of tables) {
      if (tables.size <= most) return
      if (uses === 0) drop(name)
    }
  }
  return {
    size: () => tables.size,
    /** Calls `work` with a table, opening it if necessary. Concurrent calls share one opening; a failed one is retried by the next call. */
    use: async <T>(name: string, work: (table: PassageIndex) => Promise<T>): Promise<T> => {
      const table = take(name)
      return table.opening.then(work).finally(() => give(table))
    },
    /** Like `use`, for a generator that reads the table. */
    async *read<T>(name: string, work: (table: PassageIndex) => AsyncGenerator<T>): AsyncGenerator<T> {
      const table = take(name)
      try {
        yield* work(await table.opening)
      } finally {
        give(table)
      }
    },
    drop,
    close: (): void => [...tables.keys()].forEach(drop),
  }
}

function close({ opening }: OpenTable): void {
  opening.then(
    (table) => table.close(),
    () => undefined,
  )
}

/** A table that is opened on use and may be closed between two calls. */
export function collectionIndex(tables: TableCache, location: Pick<PassageIndex, 'dir' | 'table'> & Models): PassageIndex {
  const { table: name } = location
  let behind: CodedError | undefined
  /** A table that is made again under the name is opened anew. */
  const refuse = (error: unknown): never => {
    if (error instanceof CodedError && error.code === 'unknown_collection') tables.drop(name)
    throw error
  }
  const use = <T>(work: (table: PassageIndex) => Promise<T>): Promise<T> =>
    tables
      .use(name, async (table) => {
        const result = await work(table)
        behind = table.behind()
        return result
      })
      .catch(refuse)
  return {
    ...location,
    view: () => use((table) => table.view()),
    writtenWith: () => use((table) => table.writtenWith()),
    check: () => use((table) => table.check()),
    sources: () => use((table) => table.sources()),
    version: () => use((table) => table.version()),
    info: () => use((table) => table.info()),
    refresh: () => use((table) => table.refresh()),
    get: (id) => use((table) => table.get(id)),
    changed: (passages) => use((table) => table.changed(passages)),
    upsert: (...given) => use((table) => table.upsert(...given)),
    delete: (which) => use((table) => table.delete(which)),
    count: (filter) => use((table) => table.count(filter)),
    list: (options) => use((table) => table.list(options)),
    titles: (count) => use((table) => table.titles(count)),
    /** State of the last call. */
    behind: () => behind,
    async *export(filter?: SearchFilter) {
      try {
        yield* tables.read(name, (table) => table.export(filter))
      } catch (error) {
        refuse(error)
      }
    },
    /** The table is closed with the collections. */
    close: () => undefined,
  }
}
