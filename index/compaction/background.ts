import { lanceText } from '../../base/failures.ts'
import { cleanTable, compactTable, fragmentation, isWasteful, KEEP_MS, MOST_SEGMENTS, vectorSegments } from './compact.ts'
import type { Table } from '../table/lance.ts'
import { areWordsIndexed, indexWords } from '../table/words.ts'
import { withMaintenanceLock } from '../writers/locks.ts'
import type { TableLocation } from '../contract.ts'
import type { TableSync } from '../table/table-sync.ts'

/** Checks per `surplus` writes. */
const CHECKS = 4
/** Pause between compactions, in multiples of the last one's duration: at most a tenth of the time is spent on them. */
const PAUSE_FACTOR = 9

/**
 * Rows up to which a service merges the segments of a vector index. Training takes all cores, then the table is rewritten while writers
 * wait (a second for 100,000 rows). Larger tables are left to the next job or to `cepe index compact`.
 */
const MERGED_ROWS = 2 ** 18

interface BackgroundCompactionOptions {
  /** Number of small fragments that triggers a compaction. */
  readonly surplus: number
  /** How long replaced files are kept, in milliseconds. */
  readonly keepMs?: number | undefined
  readonly onWarning: (message: string) => void
}

/**
 * Rows up to which a service indexes the words of every write. LanceDB scores words of rows that are not indexed by the frequencies among
 * these, or among those that a filter leaves. Building the index anew takes a second; larger tables are left to compaction.
 */
const INDEXED_ROWS = 20_000
/** Pause after the last write before words are indexed. */
const SETTLED_MS = 1000

/** Bounds of the interval between checks for expired files: a timer takes 25 days at most, and retention may be longer. */
const MIN_CHECK_MS = 1000
const MAX_CHECK_MS = 3_600_000

export type BackgroundCompaction = ReturnType<typeof backgroundCompaction>

/**
 * Compacts a table in the background. Every upsert adds a small file, a version and unindexed rows. Above a threshold, whichever process
 * wrote them, files are compacted, indexes updated and expired files removed.
 */
export function backgroundCompaction(location: TableLocation, { surplus, keepMs = KEEP_MS, onWarning }: BackgroundCompactionOptions) {
  /** Infinity, so that the first write checks: fragments of earlier processes count too. */
  let writes = Infinity
  let running: Promise<void> | undefined
  let [notBefore, wordsNotBefore] = [0, 0]
  let settling: NodeJS.Timeout | undefined
  let watching: NodeJS.Timeout | undefined

  /** One task at a time; does nothing while another one runs. */
  const run = (failure: string, work: () => Promise<void>): void => {
    running ??= work()
      .catch((error: unknown) => onWarning(`${failure}: ${lanceText(error)}`))
      .finally(() => {
        running = undefined
      })
  }
  /** Left out while another process maintains the table. */
  const alone = (work: () => Promise<void>): Promise<boolean> => withMaintenanceLock(location, { waitMs: 0 }, work)
  const indexNewWords = async (table: Table, sync: TableSync): Promise<void> => {
    if ((await table.countRows()) > INDEXED_ROWS || (await areWordsIndexed(table))) return
    const from = performance.now()
    await alone(async () => {
      await indexWords(table)
      await sync.flush()
    })
    wordsNotBefore = performance.now() + PAUSE_FACTOR * (performance.now() - from)
  }
  const compact = async (table: Table, sync: TableSync): Promise<void> => {
    if ((await fragmentation(table)).surplus < surplus) return
    const from = performance.now()
    const merge = (await vectorSegments(table)) >= MOST_SEGMENTS && (await table.countRows()) <= MERGED_ROWS
    await alone(() => compactTable(table, sync, keepMs, merge ? 1 : Infinity))
    notBefore = performance.now() + PAUSE_FACTOR * (performance.now() - from)
  }
  return {
    /** Counts a write to a table; every few writes, checks whether to compact. */
    noteWrite: (table: Table, sync: TableSync): void => {
      clearTimeout(settling)
      const wait = Math.max(SETTLED_MS, wordsNotBefore - performance.now())
      const failed = (error: unknown) => onWarning(`Words of ${table.storedAs} could not be indexed: ${lanceText(error)}`)
      settling = setTimeout(() => void indexNewWords(table, sync).catch(failed), wait).unref()
      if (++writes < surplus / CHECKS || running !== undefined || performance.now() < notBefore) return
      writes = 0
      run(`${table.storedAs} could not be compacted`, () => compact(table, sync))
    },
    /** Removes expired files even without further writes. Does not keep the process alive. */
    watch: (live: () => Promise<{ readonly table: Table; readonly sync: TableSync } | undefined>): void => {
      const look = async (): Promise<void> => {
        const found = await live()
        if (found === undefined || !(await isWasteful(found.table, keepMs))) return
        await alone(async () => {
          await cleanTable(found.table, keepMs)
          await found.sync.flush()
        })
      }
      const everyMs = Math.min(MAX_CHECK_MS, Math.max(MIN_CHECK_MS, keepMs))
      watching = setInterval(() => run('Expired files could not be removed', look), everyMs).unref()
    },
    close: (): void => {
      clearInterval(watching)
      clearTimeout(settling)
    },
  }
}
