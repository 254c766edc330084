import { storeOf } from './store/store-of.ts'
import { checkTableName, readAlias } from './versions/alias.ts'
import { sqlFilter } from './search/filter.ts'
import { type CodedError, invalidRequest } from '../base/errors.ts'
import { lanceText } from '../base/failures.ts'
import { contentHash } from './hash.ts'
import { connectLance, type Connection, type Table } from './table/lance.ts'
import { type ForWriting, LiveTable, type LiveTableOptions, type LiveTexts } from './versions/live-table.ts'
import { type BackgroundCompaction, backgroundCompaction } from './compaction/background.ts'
import { appendChange, watchingJobs } from './writers/change-log.ts'
import { pinForReading } from './versions/read-pins.ts'
import { openStored } from './versions/recover.ts'
import { changeRows, COALESCE_FILES, withSmallFiles } from './write/change-rows.ts'
import { packVectors, type Rows } from './table/rows.ts'
import { deleteRows, deleteWhere, idsWhere, storedRows } from './table/write.ts'
import { countSources, exportPassages, listPassages, type ListOptions, sampleTitles } from './search/list.ts'
import { type EmbeddingModel, ModelChangedError, type Models, type Passage, type SearchFilter } from './contract.ts'
import { withWriterLock } from './writers/locks.ts'
import { infoOf, versionOf, viewOf } from './view.ts'
import type { PassageIndex, UpsertOptions } from './passage-index.ts'

export type { PassageIndex } from './passage-index.ts'

/** `dir` is created if it is a folder. `onWarning`: by default a warning of the process. */
interface OpenIndexOptions extends Pick<LiveTableOptions, 'dir' | 'model'>, Partial<Omit<LiveTableOptions, 'dir' | 'model'>> {
  /** Small files, of upserts of all processes, that trigger a compaction. */
  readonly compactAfter?: number
  /** Retention of replaced files, in milliseconds. */
  readonly keepMs?: number
}

const DEFAULT_TABLE = 'passages'

/**
 * Opens an index. Its table is migrated to the current schema on first use, if that is quick. The table need not exist: until it does, reads
 * fail with index_missing, and the first upsert or job creates it.
 * @throws invalid_request for a bad table name. A table of another schema makes each call fail with index_invalid, one of another model
 * those that search or write vectors; so a running service recovers when the table is replaced.
 * @example
 * ```ts
 * import { openIndex } from './index/open.ts'
 *
 * const index = await openIndex({ dir: 'index/data', model: { id: 'my-embedder', dimension: 3 } })
 * await index.upsert([{ id: '1', title: 'Aida', text: 'Aida is an opera by Verdi.' }], [Float32Array.of(0.6, 0.8, 0)])
 * const hits = await (await index.view()).search(Float32Array.of(0.6, 0.8, 0), { k: 1 })
 * ```
 */
export async function openIndex(options: OpenIndexOptions): Promise<PassageIndex> {
  const { dir, model, furtherModels = [], table = DEFAULT_TABLE, consistencyMs = 500, compactAfter = 32, keepMs } = options
  const { onWarning = (message: string) => process.emitWarning(message), readOnly = false } = options
  const location = { dir, table: checkTableName(table) }
  if (!readOnly) await storeOf(dir).files.makeFolder(dir)
  const connection = await connectLance(dir, consistencyMs)
  /** Repairs damage, or reports it, before the first use. */
  const check = async (): Promise<void> => {
    const storedAs = await readAlias(location)
    if (storedAs !== undefined) (await openStored(connection, storedAs, { onWarning })).close()
  }
  if (!readOnly) await check().catch((error: unknown) => onWarning(lanceText(error)))
  const live = new LiveTable(connection, { ...options, ...location, consistencyMs, onWarning })
  const compaction = backgroundCompaction(location, { surplus: compactAfter, keepMs, onWarning })
  if (!readOnly) compaction.watch(() => live.find().catch(() => undefined))
  return new LanceIndex({ ...location, model, furtherModels }, connection, live, compaction)
}

class LanceIndex implements PassageIndex {
  readonly dir: string
  readonly table: string
  readonly model: EmbeddingModel
  readonly furtherModels: readonly EmbeddingModel[]
  readonly #connection: Connection
  readonly #live: LiveTable
  readonly #compaction: BackgroundCompaction
  /** Upserts since the last check for small files; Infinity, so that the first one checks. */
  #upserts = Infinity

  readonly writtenWith = async (): Promise<EmbeddingModel> => (await this.#live.find())?.model ?? this.model
  readonly behind = (): CodedError | undefined => this.#live.behind()
  readonly check = (): Promise<Date | undefined> => this.#reading(() => this.#live.check())
  readonly count = async (filter?: SearchFilter): Promise<number> => this.#read(({ table }) => table.countRows(sqlFilter(filter)))
  readonly list = async (options: ListOptions): Promise<Passage[]> => this.#read(({ table }) => listPassages(table, options))
  readonly titles = async (count: number): Promise<string[]> => this.#read(({ table }) => sampleTitles(table, count))
  readonly sources = () => this.#read(({ table }) => countSources(table))
  readonly version = async () => this.#read(({ table }) => versionOf(this.table, table))
  readonly info = async () => this.#read((live) => infoOf(this.table, live))

  constructor(
    { dir, table, model, furtherModels }: Pick<PassageIndex, 'dir' | 'table'> & Required<Models>,
    connection: Connection,
    live: LiveTable,
    compaction: BackgroundCompaction,
  ) {
    this.dir = dir
    this.table = table
    this.model = model
    this.furtherModels = furtherModels
    this.#connection = connection
    this.#live = live
    this.#compaction = compaction
  }

  async view() {
    const live = await this.#reading(() => this.#live.get())
    return viewOf(this.table, live, (work) => this.#reading(work, live.table.storedAs))
  }

  async get(id: string): Promise<Passage | undefined> {
    return (await this.list({ filter: { id: [id] }, limit: 1 }))[0]
  }

  async changed(passages: readonly Passage[]): Promise<Passage[]> {
    if ((await watchingJobs(this)).length === 0) return this.#reading(async () => differing(await this.#live.find(), passages))
    return this.#writing(async () => {
      const changed = await differing(await this.#live.refresh(), passages)
      const open = new Set(changed.map(({ id }) => id))
      const confirmed = passages.map(({ id }) => id).filter((id) => !open.has(id))
      if (confirmed.length > 0) await appendChange(this, { ids: confirmed })
      return changed
    })
  }

  async upsert(passages: readonly Passage[], vectors: readonly Float32Array[], { by = this.model, ends = [] }: UpsertOptions = {}) {
    const { dimension } = by
    const halves = packVectors(passages, vectors, dimension)
    if (passages.length === 0 && ends.length === 0) return
    const given = { passages, hashes: passages.map(contentHash), halves }
    const written = await this.#writing(async () => {
      const live = await this.#live.getForWriting()
      if (live.model.id !== by.id) throw new ModelChangedError(this.table, by, live.model)
      const rows = await this.#withCoalesced(live.table, given, dimension)
      await changeRows(this, live, { rows, dimension, ends, ids: passages.map(({ id }) => id) })
      return live
    })
    await this.#seen(written)
  }

  /** Every few upserts; the first one checks, since other processes wrote as well. */
  async #withCoalesced(table: Table, rows: Rows, dimension: number): Promise<Rows> {
    if (++this.#upserts < COALESCE_FILES) return rows
    this.#upserts = 0
    return withSmallFiles(table, rows, dimension)
  }

  async delete(which: readonly string[] | SearchFilter): Promise<number> {
    const given = isIdList(which) ? which : undefined
    const condition = isIdList(which) ? '' : wholeFilter(which)
    const { live, deleted } = await this.#writing(async () => {
      const live = await this.#live.getForDeleting()
      // Deletes by ids: a running job needs the ids that a filter matched, so that it does not add them again.
      const watched = (await watchingJobs(this)).length > 0
      const ids = given ?? (watched ? await idsWhere(live.table, condition) : [])
      const deleted = given ? await deleteRows(live.table, given) : await deleteWhere(live.table, condition)
      await live.sync.flush()
      if (watched) await appendChange(this, { ids: [...ids] })
      return { live, deleted }
    })
    await this.#seen(live)
    return deleted
  }

  /** Makes a write visible to the next read, which may use another handle. */
  async #seen({ table, idle, sync }: ForWriting<LiveTexts>): Promise<void> {
    if (table !== idle) await this.#reading(() => idle.checkoutLatest())
    this.#compaction.noteWrite(idle, sync)
  }

  async *export(filter?: SearchFilter): AsyncGenerator<Passage> {
    const { table } = await this.#reading(() => this.#live.getTexts())
    await using _pin = await pinForReading(table)
    try {
      yield* exportPassages(table, filter)
    } catch (error) {
      throw await this.#live.explained(error, table.storedAs)
    }
  }

  async refresh(): Promise<void> {
    const live = await this.#live.refresh()
    if (live !== undefined) await this.#reading(() => live.table.checkoutLatest())
  }

  close(): void {
    this.#compaction.close()
    this.#live.close()
    this.#connection.close()
  }

  /** Runs an operation that needs no vectors. */
  async #read<T>(work: (live: LiveTexts) => Promise<T>): Promise<T> {
    return this.#reading(async () => work(await this.#live.getTexts()))
  }

  #writing<T>(work: () => Promise<T>): Promise<T> {
    return this.#reading(() => withWriterLock(this, work))
  }

  /** @throws store_unavailable if the store fails; index_invalid if the table is damaged, or gone and its replacement is incompatible */
  async #reading<T>(work: () => Promise<T>, storedAs?: string): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw await this.#live.explained(error, storedAs)
    }
  }
}

/** Passages that a table lacks or has with other content; all of them if there is no table. */
async function differing(live: { readonly table: Table } | undefined, passages: readonly Passage[]): Promise<Passage[]> {
  if (live === undefined) return [...passages]
  const ids = passages.map(({ id }) => id)
  const { hashes } = await storedRows(live.table, ids)
  return passages.filter((passage) => hashes.get(passage.id) !== contentHash(passage))
}

function isIdList(which: readonly string[] | SearchFilter): which is readonly string[] {
  return Array.isArray(which)
}

function wholeFilter(filter: SearchFilter): string {
  const condition = sqlFilter(filter)
  if (condition === undefined)
    throw invalidRequest('filter', 'The filter is empty and would delete everything: name a source, a title, ids or metadata.')
  return condition
}
