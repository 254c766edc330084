import { mkdir } from 'node:fs/promises'
import { isRemote } from './store/place.ts'
import { readError } from './store/reading.ts'
import { checkTableName, tableFolder } from './table/alias.ts'
import { sqlFilter } from './search/filter.ts'
import { CodedError } from '../base/errors.ts'
import { contentHash } from './hash.ts'
import { connectLance, type Connection } from './table/lance.ts'
import { infoOf } from './table/info.ts'
import { LiveTable, type Live } from './table/live-table.ts'
import { Tidying, type Tidied } from './table/tidying.ts'
import { migrateAutomatically } from './table/migrate-index.ts'
import { noteChange, watchingJobs } from './table/changes.ts'
import { beginReading } from './table/readings.ts'
import { PASSAGE_COLUMNS } from './table/columns.ts'
import { packVectors, passageAt } from './table/rows.ts'
import { sqlIds } from './table/sql.ts'
import { DEFAULT_DENSE_WEIGHT, FUSED_DEPTH, fuseScores } from './search/hybrid.ts'
import { countSources, exportPassages, listPassages, type ListOptions } from './search/list.ts'
import { findByVector, findByWords, searchVector, searchWords, wholeHits } from './search/search.ts'
import { inTurn } from './table/turn.ts'
import { deleteRows, deleteWhere, idsWhere, mergeRows, storedHashes } from './table/write.ts'
import type { EmbeddingModel, IndexInfo, Passage, SearchFilter, SearchHit, SearchOptions } from './contract.ts'

const MAX_K = 1000

/** Passages in LanceDB under one name. Every method may be called at any time and any number of times at once. */
export interface PassageIndex {
  /** Folder of the tables, or its address in an object store. */
  readonly dir: string
  /** Name of the table. */
  readonly table: string
  readonly model: EmbeddingModel
  /** The k passages of the largest dot product with `vector`, best first. */
  search(vector: Float32Array, options: SearchOptions): Promise<SearchHit[]>
  /** The k passages of the highest BM25 score, best first. */
  searchText(query: string, options: SearchOptions): Promise<SearchHit[]>
  /** Both searches, their scores fused with the weight that was measured on the corpus; the score is the fused one, 0 to 1. */
  searchHybrid(query: string, vector: Float32Array, options: SearchOptions): Promise<SearchHit[]>
  get(id: string): Promise<Passage | undefined>
  /**
   * Those of the passages that are absent or stored with another content: what has to be embedded and upserted. The others
   * are confirmed: no job that is under way puts an older content in their place.
   */
  changed(passages: readonly Passage[]): Promise<Passage[]>
  /** Inserts or replaces passages by id; durable when it returns. `vectors` come from the index's model, one per passage. */
  upsert(passages: readonly Passage[], vectors: readonly Float32Array[]): Promise<void>
  /** Deletes by ids or by filter; durable when it returns the number deleted. */
  delete(which: readonly string[] | SearchFilter): Promise<number>
  count(filter?: SearchFilter): Promise<number>
  /** A page of passages in the order of their ids. */
  list(options: ListOptions): Promise<Passage[]>
  /** All passages of the version that is live when reading begins. */
  export(filter?: SearchFilter): AsyncGenerator<Passage>
  /** Passages of each source, most first; reads a column of the whole table. */
  sources(): Promise<{ readonly source: string; readonly passages: number }[]>
  /** Name, version and size of what is being searched: cheap enough for every question. */
  version(): Promise<{ readonly table: string; readonly version: number; readonly passages: number }>
  /** All that is known of what is being searched. @throws index_missing if there is no table yet. */
  info(): Promise<IndexInfo>
  /** Looks now whether the table was replaced, and returns when the new one answers, instead of within `consistencyMs`. */
  refresh(): Promise<void>
  close(): void
}

export interface OpenIndexOptions {
  /** Folder of the tables, made if missing; or its address in an object store. */
  readonly dir: string
  readonly table?: string
  /** The model that passages and questions are embedded with. */
  readonly model: EmbeddingModel
  /** Commits and replacements by other processes are seen within so many milliseconds. */
  readonly consistencyMs?: number
  /** Small files, of upserts of all processes, from which on they are put together and the indexes brought up to date. */
  readonly tidyAfter?: number
  /** How long files that were replaced are kept, in milliseconds. */
  readonly keepMs?: number
  /** Told of damage that was worked around. */
  readonly onWarning?: (message: string) => void
  /** Nothing in the folder is made, migrated or repaired, and changes are refused: for replicas. */
  readonly readOnly?: boolean
}

const DEFAULT_TABLE = 'passages'

/**
 * Opens an index, and brings its table to the current schema where that is a matter of moments. The table need not
 * exist: until it does, reads fail with index_missing, and the first upsert or job makes it.
 * @throws invalid_request for a bad table name. A table of another model or schema is an error of each call
 * (index_invalid), so that a running service heals when the table is replaced.
 */
export async function openIndex(options: OpenIndexOptions): Promise<PassageIndex> {
  const {
    dir,
    model,
    table = DEFAULT_TABLE,
    consistencyMs = 500,
    tidyAfter = 32,
    keepMs,
    onWarning = () => undefined,
    readOnly = false,
  } = options
  checkTableName(table)
  if (!readOnly) {
    if (!isRemote(dir)) await mkdir(dir, { recursive: true })
    await migrateAutomatically(dir, table, onWarning)
  }
  const connection = await connectLance(dir, consistencyMs)
  const live = new LiveTable({ dir, connection, name: table, model, consistencyMs, onWarning, readOnly })
  const tidying = new Tidying({
    surplus: tidyAfter,
    ...(keepMs === undefined ? {} : { keepMs }),
    onWarning,
    inTurn: (work) => inTurn(dir, table, work),
  })
  if (!readOnly) tidying.watch(async () => folderOf(dir, await live.find().catch(() => undefined)))
  return new LanceIndex({ dir, table, model }, connection, live, tidying)
}

function folderOf(dir: string, live: Live | undefined): Tidied | undefined {
  return live && { table: live.table, sync: live.sync, folder: tableFolder(dir, live.storedAs) }
}

class LanceIndex implements PassageIndex {
  readonly dir: string
  readonly table: string
  readonly model: EmbeddingModel
  readonly #connection: Connection
  readonly #live: LiveTable
  readonly #tidying: Tidying

  constructor(
    { dir, table, model }: Pick<PassageIndex, 'dir' | 'table' | 'model'>,
    connection: Connection,
    live: LiveTable,
    tidying: Tidying,
  ) {
    this.dir = dir
    this.table = table
    this.model = model
    this.#connection = connection
    this.#live = live
    this.#tidying = tidying
  }

  async search(vector: Float32Array, options: SearchOptions): Promise<SearchHit[]> {
    this.#check(options, vector)
    return this.#read(({ table, metadata }) => searchVector(table, metadata.ann, vector, options))
  }

  async searchText(query: string, options: SearchOptions): Promise<SearchHit[]> {
    this.#check(options)
    return this.#read(({ table }) => searchWords(table, query, options))
  }

  async searchHybrid(query: string, vector: Float32Array, options: SearchOptions): Promise<SearchHit[]> {
    this.#check(options, vector)
    const deeper = { ...options, k: Math.max(FUSED_DEPTH, options.k) }
    return this.#read(async ({ table, metadata }) => {
      const [dense, text] = await Promise.all([findByVector(table, metadata.ann, vector, deeper), findByWords(table, query, deeper)])
      return wholeHits(fuseScores({ dense, text }, metadata.hybrid?.denseWeight ?? DEFAULT_DENSE_WEIGHT, options.k))
    })
  }

  async get(id: string): Promise<Passage | undefined> {
    const found = await this.#read(({ table }) =>
      table
        .query()
        .where(sqlIds([id]))
        .select([...PASSAGE_COLUMNS])
        .limit(1)
        .toArrow(),
    )
    return found.numRows === 0 ? undefined : passageAt(found, 0)
  }

  async changed(passages: readonly Passage[]): Promise<Passage[]> {
    const ids = passages.map((passage) => passage.id)
    if ((await watchingJobs(this.dir, this.table)).length === 0) {
      const live = await this.#live.find()
      return live === undefined ? [...passages] : differing(passages, await storedHashes(live.table, ids))
    }
    return inTurn(this.dir, this.table, async () => {
      const live = await this.#live.refresh()
      const changed = live === undefined ? [...passages] : differing(passages, await storedHashes(live.table, ids))
      const open = new Set(changed.map(({ id }) => id))
      const confirmed = ids.filter((id) => !open.has(id))
      if (confirmed.length > 0) await noteChange(this.dir, this.table, { ids: confirmed })
      return changed
    })
  }

  async upsert(passages: readonly Passage[], vectors: readonly Float32Array[]): Promise<void> {
    const { dimension } = this.model
    const halves = packVectors(passages, vectors, dimension)
    if (passages.length === 0) return
    const rows = { passages, hashes: passages.map(contentHash), halves }
    const written = await inTurn(this.dir, this.table, async () => {
      const live = await this.#live.getForWriting(true)
      await mergeRows(live.table, rows, dimension)
      await live.sync.flush()
      await noteChange(this.dir, this.table, { ids: passages.map((passage) => passage.id) })
      return live
    })
    this.#tidying.wrote(written.idle, written.sync)
  }

  async delete(which: readonly string[] | SearchFilter): Promise<number> {
    if (!isIdList(which)) wholeFilter(which)
    const { live, deleted } = await inTurn(this.dir, this.table, async () => {
      const live = await this.#live.getForWriting(false)
      // By its ids: while a job is under way, what a filter names must be known, so that the job does not bring it back.
      const watched = (await watchingJobs(this.dir, this.table)).length > 0
      const ids = isIdList(which) || !watched ? [] : await idsWhere(live.table, wholeFilter(which))
      const gone = isIdList(which) ? await deleteRows(live.table, which) : await deleteWhere(live.table, wholeFilter(which))
      await live.sync.flush()
      if (watched) await noteChange(this.dir, this.table, { ids: isIdList(which) ? [...which] : ids })
      return { live, deleted: gone }
    })
    this.#tidying.wrote(live.idle, live.sync)
    return deleted
  }

  async count(filter?: SearchFilter): Promise<number> {
    return this.#read(({ table }) => table.countRows(sqlFilter(filter)))
  }

  async list(options: ListOptions): Promise<Passage[]> {
    return this.#read(({ table }) => listPassages(table, options))
  }

  async *export(filter?: SearchFilter): AsyncGenerator<Passage> {
    const { table } = await this.#live.get()
    const end = beginReading(table)
    try {
      yield* exportPassages(table, filter)
    } catch (error) {
      throw readError(this.dir, error)
    } finally {
      end()
    }
  }

  async sources(): Promise<{ readonly source: string; readonly passages: number }[]> {
    return this.#read(({ table }) => countSources(table))
  }

  async version(): Promise<{ readonly table: string; readonly version: number; readonly passages: number }> {
    const [version, passages] = await this.#read(({ table }) => Promise.all([table.version(), table.countRows()]))
    return { table: this.table, version, passages }
  }

  async info(): Promise<IndexInfo> {
    return this.#read((live) => infoOf(this.table, live))
  }

  async refresh(): Promise<void> {
    await this.#live.refresh()
  }

  close(): void {
    this.#tidying.close()
    this.#live.close()
    this.#connection.close()
  }

  /** @throws store_unavailable where an object store keeps the table from being read */
  async #read<T>(work: (live: Live) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#live.get())
    } catch (error) {
      throw readError(this.dir, error)
    }
  }

  #check({ k }: SearchOptions, vector?: Float32Array): void {
    if (!Number.isInteger(k) || k < 1 || k > MAX_K)
      throw new CodedError('invalid_request', `k is ${k}; it must be 1 to ${MAX_K}.`, { field: 'k' })
    if (vector === undefined) return
    if (vector.length !== this.model.dimension) {
      throw new CodedError(
        'index_invalid',
        `The question's vector has ${vector.length} numbers, the index's have ${this.model.dimension}: embed it with ${this.model.id}.`,
        { field: 'vector' },
      )
    }
    if (!vector.every(Number.isFinite))
      throw new CodedError('index_invalid', "The question's vector holds NaN or infinite numbers: check the embedding model.", {
        field: 'vector',
      })
  }
}

function differing(passages: readonly Passage[], known: ReadonlyMap<string, string>): Passage[] {
  return passages.filter((passage) => known.get(passage.id) !== contentHash(passage))
}

function isIdList(which: readonly string[] | SearchFilter): which is readonly string[] {
  return Array.isArray(which)
}

function wholeFilter(filter: SearchFilter): string {
  const condition = sqlFilter(filter)
  if (condition === undefined)
    throw new CodedError('invalid_request', 'The filter is empty and would delete everything: name a source or a title.', {
      field: 'filter',
    })
  return condition
}
