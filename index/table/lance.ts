import { connect, Index, Session, type Table as LanceTable } from '@lancedb/lancedb'
import type { Schema } from 'apache-arrow'
import { conflict, osCode } from '../../base/errors.ts'
import { inFolder, isCommitConflict, isDiskFull } from '../../base/failures.ts'
import { checkTemporary, inScratch, keepScratch } from '../../base/locks/scratch.ts'
import { storeOf } from '../store/store-of.ts'

export { Index, MatchQuery, type Query, type VectorQuery } from '@lancedb/lancedb'

/** A LanceDB table. Its `name` throws while another call on the table is running: the name used to open it takes its place. */
export interface Table extends Omit<LanceTable, 'name'>, Disposable {
  readonly storedAs: string
  /** Folder or object store address of its index. */
  readonly dir: string
}

export type Connection = Awaited<ReturnType<typeof connectLance>>

const MIB = 2 ** 20
/**
 * Caches of a connection that is closed while the process serves: they are freed in one blocking call (0.4 ms per megabyte of posting
 * lists, 150 ms after a job of 360,000 passages). For writers: the ids of 21 million passages take 0.4 GB, in few large blocks.
 */
const WRITING_CACHES = { index: 512 * MIB, metadata: 128 * MIB }
/** Pause before what was in use is closed again. */
const CLOSE_AGAIN_MS = 100
/** Caches of a connection for text search, in bytes. */
export const SMALL_CACHES = { index: 48 * MIB, metadata: 16 * MIB }

/**
 * Opens a database folder. Commits of other processes become visible within `consistencyMs`; without it they never do.
 * @throws config_invalid without a folder for temporary files
 * @param caches LanceDB's defaults if absent, at most 6 GiB and 1 GiB
 */
export async function connectLance(dir: string, consistencyMs: number | undefined, caches?: typeof SMALL_CACHES) {
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
    // Building indexes leaves temporary files.
    const [optimize, createIndex, closeNow] = [table.optimize.bind(table), table.createIndex.bind(table), table.close.bind(table)]
    const close = (): void => closeUnused(closeNow)
    return Object.assign(table, {
      storedAs,
      dir,
      optimize: (...given: Parameters<typeof optimize>) => inScratch(() => optimize(...given)),
      createIndex: (...given: Parameters<typeof createIndex>) => inScratch(() => createIndex(...given)),
      close,
      [Symbol.dispose]: close,
    })
  }
  const close = (): void => closeUnused(() => connection.close())
  return {
    dir,
    /** @param version to read an earlier version; the newest by default */
    openTable: (storedAs: string, version?: number) =>
      named(storedAs, connection.openTable(storedAs, [], version === undefined ? {} : { version })),
    createEmptyTable: (storedAs: string, schema: Schema) => named(storedAs, connection.createEmptyTable(storedAs, schema)),
    dropTable: (storedAs: string) => connection.dropTable(storedAs),
    tableNames: () => allNames((startAfter) => connection.tableNames(startAfter === undefined ? {} : { startAfter })),
    isOpen: () => connection.isOpen(),
    close,
    [Symbol.dispose]: close,
  }
}

/** Closes what no call uses; LanceDB refuses the rest, which is closed once its calls have ended. */
function closeUnused(close: () => void): void {
  try {
    close()
  } catch (error) {
    if (osCode(error) !== 'InvalidArg') throw error
    setTimeout(() => closeUnused(close), CLOSE_AGAIN_MS).unref()
  }
}

/** LanceDB lists tables in pages. */
async function allNames(page: (startAfter: string | undefined) => Promise<string[]>): Promise<string[]> {
  const names: string[] = []
  for (let some = await page(undefined); some.length > 0; some = await page(names.at(-1))) names.push(...some)
  return names
}

/**
 * Opens an index for changes. If locks can be lost, a table stays at the version it was opened at or refreshed to, so that a write started
 * under one lock cannot land on top of a later holder's.
 */
export function connectForWriting(dir: string): Promise<Connection> {
  return connectLance(dir, storeOf(dir).locksCanBeLost ? undefined : 0, WRITING_CACHES)
}

/** Partitions up to which codes have two bits per dimension: four million passages, 0.9 GB of codes of 768 numbers. */
const FINE_PARTITIONS = 1024

/**
 * Inverted lists with RaBitQ codes. With two bits per dimension half as many candidates have to be read and compared for the same recall,
 * with one bit the index of a large table is half as large: a fourteenth of its vectors, 28 s to build per half million.
 */
export function vectorIndexConfig(numPartitions: number): Index {
  return Index.ivfRq({ distanceType: 'dot', numPartitions, numBits: numPartitions <= FINE_PARTITIONS ? 2 : 1 })
}

/** In bytes: hashes, identifiers and addresses are words too. LanceDB ignores longer ones. */
const LONGEST_WORD = 128

/**
 * BM25 over words of any script: ICU finds them where none are divided by spaces. Stop words stay: "The Who". Positions are for phrase
 * queries, which are not supported, and would triple the size.
 * @param language LanceDB's name of the language of stems; none if absent
 */
export function textIndexConfig(language?: string): Index {
  return Index.fts({
    baseTokenizer: 'icu/split',
    maxTokenLength: LONGEST_WORD,
    withPosition: false,
    removeStopWords: false,
    asciiFolding: true,
    ...(language === undefined ? { stem: false } : { stem: true, language }),
  })
}

const ATTEMPTS = 8

/**
 * Retries a write after a commit conflict. If locks can be lost, each attempt starts at the newest version and only if this process still
 * holds its leases; a takeover after that check rejects the write (see `fenceTables`).
 * @throws disk_full or conflict; other errors unchanged
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
      // A pending write of a stalled process can fail in any way, by its age for instance; the actual cause is the takeover.
      await locks.check(table.dir)
      if (isDiskFull(error)) inFolder(table.dir)(error)
      if (!isCommitConflict(error)) throw error
      const message = `Other writers committed to ${table.storedAs} first, ${ATTEMPTS} times in a row: try again later.`
      if (attempt === ATTEMPTS) throw conflict(table.storedAs, message, error)
      await new Promise((resolve) => setTimeout(resolve, 2 ** attempt * (5 + Math.random() * 5)))
      await table.checkoutLatest()
    }
  }
}

/**
 * Loads a table's indexes into memory: the first query then takes 14 ms instead of 89 (measured at 500,000 rows). LanceDB rejects an index
 * that exceeds its cache; it is then read on demand.
 */
export async function prewarm(table: Table): Promise<void> {
  for (const { name } of await table.listIndices()) await table.prewarmIndex(name).catch(() => undefined)
}
