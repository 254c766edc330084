import { storeOf } from './store/store-of.ts'
import { checkTableName, readAlias } from './versions/alias.ts'
import { sqlFilter } from './search/filter.ts'
import { invalidRequest } from '../base/errors.ts'
import { lanceText } from '../base/failures.ts'
import { contentHash } from './hash.ts'
import { connectLance, type Connection, type Table } from './table/lance.ts'
import { type ForWriting, LiveTable, type LiveTableOptions, type LiveTexts } from './versions/live-table.ts'
import { type BackgroundCompaction, backgroundCompaction } from './compaction/background.ts'
import { appendChange, watchingJobs } from './writers/change-log.ts'
import { pinForReading } from './versions/read-pins.ts'
import { openStored } from './versions/recover.ts'
import { changeRows, COALESCE_FILES, withSmallFiles } from './write/change-rows.ts'
import { packVectors, stringsIn, type Rows } from './table/rows.ts'
import { sampleRows } from './table/sample.ts'
import { deleteRows, deleteWhere, idsWhere, storedRows } from './table/write.ts'
import { countSources, exportPassages, listPassages, type ListOptions } from './search/list.ts'
import { ModelChangedError, type Models, type Passage, type SearchFilter, type TableLocation } from './contract.ts'
import { withWriterLock } from './writers/locks.ts'
import { infoOf, versionOf, viewOf } from './view.ts'
import type { PassageIndex } from './passage-index.ts'

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
  return lanceIndex({ location, model, furtherModels, connection, live, compaction })
}

interface Parts extends Required<Models> {
  readonly location: TableLocation
  readonly connection: Connection
  readonly live: LiveTable
  readonly compaction: BackgroundCompaction
}

function lanceIndex({ location, model, furtherModels, connection, live, compaction }: Parts): PassageIndex {
  const { table: name } = location
  /** @throws store_unavailable if the store fails; index_invalid if the table is damaged, or gone and its replacement is incompatible */
  const reading = async <T>(work: () => Promise<T>, storedAs?: string): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      throw await live.explained(error, storedAs)
    }
  }
  /** Runs an operation that needs no vectors. */
  const read = <T>(work: (live: LiveTexts) => Promise<T>): Promise<T> => reading(async () => work(await live.getTexts()))
  const list = (options: ListOptions): Promise<Passage[]> => read(({ table }) => listPassages(table, options))
  return {
    ...location,
    model,
    furtherModels,
    ...writesOf({ location, model, live, compaction }, reading),
    writtenWith: async () => (await live.find())?.model ?? model,
    behind: () => live.behind(),
    check: () => reading(() => live.check()),
    count: (filter) => read(async ({ table }) => table.countRows(sqlFilter(filter))),
    list,
    titles: (count) => read(async ({ table }) => stringsIn(await sampleRows(table, count, ['title']), 'title')),
    sources: () => read(({ table }) => countSources(table)),
    version: () => read(({ table }) => versionOf(name, table)),
    info: () => read((found) => infoOf(name, found)),
    view: async () => {
      const found = await reading(() => live.get())
      return viewOf(name, found, (work) => reading(work, found.table.storedAs))
    },
    get: async (id) => (await list({ filter: { id: [id] }, limit: 1 }))[0],
    async *export(filter) {
      const { table } = await reading(() => live.getTexts())
      await using _pin = await pinForReading(table)
      try {
        yield* exportPassages(table, filter)
      } catch (error) {
        throw await live.explained(error, table.storedAs)
      }
    },
    refresh: async () => {
      const found = await live.refresh()
      if (found !== undefined) await reading(() => found.table.checkoutLatest())
    },
    close: () => {
      compaction.close()
      live.close()
      connection.close()
    },
  }
}

/** @param reading runs an operation, and explains its error */
function writesOf(
  { location, model, live, compaction }: Omit<Parts, 'connection' | 'furtherModels'>,
  reading: <T>(work: () => Promise<T>) => Promise<T>,
): Pick<PassageIndex, 'changed' | 'upsert' | 'delete'> {
  const writing = <T>(work: () => Promise<T>): Promise<T> => reading(() => withWriterLock(location, work))
  /** Upserts since the last check for small files; Infinity, so that the first one checks: other processes wrote as well. */
  let upserts = Infinity
  /** Every few upserts. */
  const withCoalesced = async (table: Table, rows: Rows, dimension: number): Promise<Rows> => {
    if (++upserts < COALESCE_FILES) return rows
    upserts = 0
    return withSmallFiles(table, rows, dimension)
  }
  /** Makes a write visible to the next read, which may use another handle. */
  const seen = async ({ table, idle, sync }: ForWriting<LiveTexts>): Promise<void> => {
    if (table !== idle) await reading(() => idle.checkoutLatest())
    compaction.noteWrite(idle, sync)
  }
  return {
    changed: async (passages) => {
      if ((await watchingJobs(location)).length === 0) return reading(async () => differing(await live.find(), passages))
      return writing(async () => {
        const changed = await differing(await live.refresh(), passages)
        const open = new Set(changed.map(({ id }) => id))
        const confirmed = passages.map(({ id }) => id).filter((id) => !open.has(id))
        if (confirmed.length > 0) await appendChange(location, { ids: confirmed })
        return changed
      })
    },
    upsert: async (passages, vectors, { by = model, ends = [] } = {}) => {
      const { dimension } = by
      const halves = packVectors(passages, vectors, dimension)
      if (passages.length === 0 && ends.length === 0) return
      const given = { passages, hashes: passages.map(contentHash), halves }
      const written = await writing(async () => {
        const found = await live.getForWriting()
        if (found.model.id !== by.id) throw new ModelChangedError(location.table, by, found.model)
        const rows = await withCoalesced(found.table, given, dimension)
        await changeRows(location, found, { rows, dimension, ends, ids: passages.map(({ id }) => id) })
        return found
      })
      await seen(written)
    },
    delete: async (which) => {
      const given = isIdList(which) ? which : undefined
      const condition = isIdList(which) ? '' : wholeFilter(which)
      const { found, deleted } = await writing(async () => {
        const found = await live.getForDeleting()
        // Deletes by ids: a running job needs the ids that a filter matched, so that it does not add them again.
        const watched = (await watchingJobs(location)).length > 0
        const ids = given ?? (watched ? await idsWhere(found.table, condition) : [])
        const deleted = given ? await deleteRows(found.table, given) : await deleteWhere(found.table, condition)
        await found.sync.flush()
        if (watched) await appendChange(location, { ids: [...ids] })
        return { found, deleted }
      })
      await seen(found)
      return deleted
    },
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
