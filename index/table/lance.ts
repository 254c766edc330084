import { access, constants } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { connect, Index, makeArrowTable, Session, type Table as LanceTable } from '@lancedb/lancedb'
import { Schema, type Field } from 'apache-arrow'
import { CodedError } from '../../base/errors.ts'
import { isCommitConflict, isDiskFull, lanceText } from '../../base/failures.ts'
import { inScratch, keepScratch } from '../../base/locks/scratch.ts'
import { storeOf } from '../store/store-of.ts'

export { MatchQuery, type Query, type VectorQuery } from '@lancedb/lancedb'

/**
 * A table of LanceDB. Its own `name` throws while any other call on the table is under way, so it is hidden here, and the
 * name that the table was opened by stands in its place.
 */
export interface Table extends Omit<LanceTable, 'name'> {
  readonly storedAs: string
  /** The index that it is in: a folder, or an address in an object store. */
  readonly dir: string
  /** Adds nullable columns without a value in any row, which takes moments on a table of any size. */
  addEmptyColumns(fields: readonly Field[]): Promise<unknown>
}

/** A folder of tables. */
export interface Connection {
  /** @param version to read an earlier version; the newest otherwise. */
  openTable(storedAs: string, version?: number): Promise<Table>
  createEmptyTable(storedAs: string, schema: Schema): Promise<Table>
  dropTable(storedAs: string): Promise<void>
  tableNames(): Promise<string[]>
  close(): void
}

/** Bytes that a connection keeps of what it has read. */
export interface Caches {
  readonly index: number
  readonly metadata: number
}

const MIB = 2 ** 20
/**
 * Of a connection that goes while the process serves: a closed one's caches are freed at once, and nothing else runs meanwhile (0.4 ms a
 * megabyte of lists of words, 150 ms after a job of 360,000 passages). Of one that changes tables: the ids of 21 million passages take 0.4 GB, in few large pieces.
 */
const WRITING_CACHES: Caches = { index: 512 * MIB, metadata: 128 * MIB }
/** Of one that searches by words. */
export const SMALL_CACHES: Caches = { index: 48 * MIB, metadata: 16 * MIB }

/**
 * Opens a database folder. Commits of other processes become visible within `consistencyMs`; without an interval they never would.
 * @throws config_invalid without a folder for temporary files
 * @param caches LanceDB's own sizes where absent, 6 GiB and 1 GiB at most
 */
export async function connectLance(dir: string, consistencyMs: number | undefined, caches?: Caches): Promise<Connection> {
  keepScratch()
  await checkTemporary()
  const storageOptions = storeOf(dir).lanceOptions()
  const connection = await connect(dir, {
    ...(caches && { session: new Session(BigInt(caches.index), BigInt(caches.metadata)) }),
    ...(consistencyMs === undefined ? {} : { readConsistencyInterval: consistencyMs / 1000 }),
    ...(storageOptions && { storageOptions }),
  })
  const named = async (storedAs: string, opening: Promise<LanceTable>): Promise<Table> => {
    const table = await opening
    // Fields are only taken from the copy of Arrow that LanceDB itself loads.
    const addEmptyColumns = (fields: readonly Field[]): Promise<unknown> =>
      table.addColumns(makeArrowTable([], { schema: new Schema([...fields]) }).schema)
    // What makes indexes leaves files behind.
    const [optimize, createIndex] = [table.optimize.bind(table), table.createIndex.bind(table)]
    return Object.assign(table, {
      storedAs,
      dir,
      addEmptyColumns,
      optimize: (...given: Parameters<typeof optimize>) => inScratch(() => optimize(...given)),
      createIndex: (...given: Parameters<typeof createIndex>) => inScratch(() => createIndex(...given)),
    })
  }
  return {
    openTable: (storedAs, version) => named(storedAs, connection.openTable(storedAs, [], version === undefined ? {} : { version })),
    createEmptyTable: (storedAs, schema) => named(storedAs, connection.createEmptyTable(storedAs, schema)),
    dropTable: (storedAs) => connection.dropTable(storedAs),
    tableNames: () => allNames((startAfter) => connection.tableNames(startAfter === undefined ? {} : { startAfter })),
    close: () => connection.close(),
  }
}

/** A connection makes a folder there for what does not fit into memory; where it cannot, LanceDB ends the process. @throws config_invalid */
async function checkTemporary(): Promise<void> {
  const folder = tmpdir()
  await access(folder, constants.W_OK | constants.X_OK).catch((cause: unknown) => {
    throw new CodedError('config_invalid', `The folder for temporary files, ${folder}, cannot be written to: set TMPDIR to another.`, {
      field: 'TMPDIR',
      cause,
    })
  })
}

/** LanceDB lists tables in pages. */
async function allNames(page: (startAfter: string | undefined) => Promise<string[]>): Promise<string[]> {
  const names: string[] = []
  for (let some = await page(undefined); some.length > 0; some = await page(names.at(-1))) names.push(...some)
  return names
}

/**
 * Opens an index for changes. Where locks can be lost a table stays at the version that it was opened at or brought to, so that
 * nothing that was begun in one turn is put on top of what came after it.
 */
export function connectForWriting(dir: string): Promise<Connection> {
  return connectLance(dir, storeOf(dir).locksCanBeLost ? undefined : 0, WRITING_CACHES)
}

/**
 * Inverted lists with RaBitQ codes of one bit per dimension. At 21 million passages: 28 s to build per half million,
 * recall@10 of 0.98 after refinement, a fourteenth of the vectors' size.
 */
export function vectorIndexConfig(numPartitions: number): Index {
  return Index.ivfRq({ distanceType: 'dot', numPartitions, numBits: 1 })
}

/** BM25. Positions are for phrase queries, which are not offered, and would triple its size. */
export function textIndexConfig(): Index {
  return Index.fts({ withPosition: false, language: 'English', stem: true, removeStopWords: true, asciiFolding: true })
}

/** For lookups by values that are mostly distinct: ids, titles. */
export function manyValuesConfig(): Index {
  return Index.btree()
}

/** For lookups by values that many rows share: file names. */
export function fewValuesConfig(): Index {
  return Index.bitmap()
}

/** For lookups of lists by what they hold. */
export function listsConfig(): Index {
  return Index.labelList()
}

const ATTEMPTS = 8

/**
 * Runs a write again where another writer committed first. Where locks can be lost, each attempt begins at the newest version and
 * only if this process still holds the leases that it took: a takeover after that look refuses the write (see `fenceTables`).
 * @throws disk_full or conflict for what they mean; anything else as it came.
 */
export async function writing<T>(table: Table, write: () => Promise<T>): Promise<T> {
  const { locks, locksCanBeLost } = storeOf(table.dir)
  for (let attempt = 1; ; attempt++) {
    if (locksCanBeLost) {
      await table.checkoutLatest()
      await locks.check(table.dir)
    }
    try {
      return await write()
    } catch (error) {
      // What a process that stalled had on its way fails in any way, by its age for instance: that another took over is what there is to say.
      await locks.check(table.dir)
      if (isDiskFull(error))
        throw new CodedError('disk_full', `The disk of the index is full: free space, then resume. (${lanceText(error)})`, {
          field: table.storedAs,
          cause: error,
        })
      if (!isCommitConflict(error)) throw error
      if (attempt === ATTEMPTS) {
        throw new CodedError(
          'conflict',
          `Other writers committed to ${table.storedAs} first, ${ATTEMPTS} times in a row: try again later.`,
          {
            field: table.storedAs,
            cause: error,
          },
        )
      }
      await new Promise((resolve) => setTimeout(resolve, 2 ** attempt * (5 + Math.random() * 5)))
      await table.checkoutLatest()
    }
  }
}

/**
 * Loads a table's indexes into memory: the first query then takes 14 ms instead of 89 (measured at 500,000 rows). LanceDB refuses it for one
 * that its caches do not hold, which is then read as searches need it.
 */
export async function prewarm(table: Table): Promise<void> {
  for (const { name } of await table.listIndices()) await table.prewarmIndex(name).catch(() => undefined)
}
