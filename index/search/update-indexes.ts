import { cleanTable, KEEP_MS, orLater } from '../compaction/compact.ts'
import { FILTER_COLUMNS } from './filter.ts'
import { LABELS_COLUMN } from '../table/metadata-columns.ts'
import { Index, writing, type Table } from '../table/lance.ts'
import { stringsIn, TEXT_COLUMNS } from '../table/rows.ts'
import { Stages } from '../stages.ts'
import { sampleRows } from '../table/sample.ts'
import { indexName, indexWords, isWordIndexOutdated } from '../table/words.ts'

/** Least added rows for an update, which copies the indexes and the last fragments; until then they are scanned (20,000 in about 10 ms). */
const UPDATE_ROWS = 2000
const UPDATE_SHARE = 0.05
const MAX_UPDATE_ROWS = 20_000
/** Rows sampled to estimate the number of distinct values, and the limit for a bitmap index (LanceDB's documentation: 1000). */
const SAMPLE = 4096
const FEW = 1000

/** When to build a vector index, and the recall it must reach. */
export interface SearchPolicy {
  /** Rows below which every vector is compared: exact, and fast enough (docs/benchmarks.md). */
  readonly exactBelow: number
  /** Minimum recall@10 against exact search; an index below it is not used. */
  readonly minRecall: number
  /** Passages whose sentences or vectors are queries for measuring recall: 64 distinguish 0.97 from 0.95. They share one scan of the table. */
  readonly sample: number
  /** Retention of replaced files, in milliseconds. Default: that of a compaction. */
  readonly keepMs?: number
  /** Called with work left to later jobs. */
  readonly onWarning?: (message: string) => void
}

export const SEARCH_POLICY: SearchPolicy = { exactBelow: 50_000, minRecall: 0.97, sample: 64 }

/**
 * Creates text and id indexes, and from `exactBelow` rows on those of filter columns. An index that covers less than half of the rows is rebuilt,
 * which reads one column; smaller additions are added to all indexes, which also compacts the table.
 */
export async function updateIndexes(
  table: Table,
  rows: number,
  { exactBelow, keepMs = KEEP_MS, onWarning = () => undefined }: Omit<SearchPolicy, 'minRecall' | 'sample'>,
  stages = new Stages(),
): Promise<void> {
  const left = new Map((await table.listIndices()).map(({ name, numUnindexedRows }) => [name, numUnindexedRows ?? rows]))
  const outdated = (name: string): boolean => (left.get(name) ?? rows) * 2 > rows
  const made = async (name: string, make: () => Promise<void>): Promise<void> => {
    if (!outdated(name)) return
    await writing(table, make)
    left.delete(name)
  }
  await stages.estimated('indexing words', rows, async () => {
    const names = TEXT_COLUMNS.map(indexName)
    if (!names.some(outdated) && !(await isWordIndexOutdated(table))) return
    await indexWords(table)
    for (const name of names) left.delete(name)
  })
  await stages.estimated('indexing ids and filters', rows, async () => {
    await made(indexName('id'), () => table.createIndex('id', { config: Index.btree() }))
    if (rows < exactBelow) return
    for (const column of FILTER_COLUMNS) {
      // Titles also have a text index, under the column's own name.
      const name = `${column}_filter`
      await made(name, async () => {
        const values = new Set(stringsIn(await sampleRows(table, SAMPLE, [column]), column))
        return table.createIndex(column, { config: values.size <= FEW ? Index.bitmap() : Index.btree(), name })
      })
    }
    if ((await table.countRows(`${LABELS_COLUMN} IS NOT NULL`)) > 0)
      await made(indexName(LABELS_COLUMN), () => table.createIndex(LABELS_COLUMN, { config: Index.labelList() }))
  })
  const worthFolding = Math.min(MAX_UPDATE_ROWS, Math.max(UPDATE_ROWS, rows * UPDATE_SHARE))
  if (Math.max(0, ...left.values()) >= worthFolding)
    await stages.estimated('compacting', rows, () => orLater(() => cleanTable(table, keepMs), onWarning))
}
