import { IndexError } from './errors.ts'
import { fromHalves } from './half.ts'
import { idIndexConfig, textIndexConfig, vectorIndexConfig, writing, type Table } from './lance.ts'
import { readMetadata, writeAnn, type AnnSettings } from './metadata.ts'
import { TEXT_COLUMNS } from './migrate.ts'
import { halvesAt } from './rows.ts'
import { searchVector } from './search.ts'

/** When a table gets a vector index, and what is asked of it. */
export interface SearchPolicy {
  /** Rows below which every vector is compared: exact, and fast enough (see the benchmark in the README). */
  readonly exactBelow: number
  /** Least recall@10 against exact search; without it the index is not put into service. */
  readonly minRecall: number
  /** Stored vectors taken as queries to measure recall. */
  readonly sample: number
}

export const SEARCH_POLICY: SearchPolicy = { exactBelow: 50_000, minRecall: 0.95, sample: 32 }

const RECALL_AT = 10
const REFINE = 10
const MOST_PARTITIONS = 4096
/** An index is built anew once the table wants this many times its partitions. */
const REPARTITION = 2
/** Recall is measured again once the table has grown so much. */
const REMEASURE = 1.1
/** Rows added since the last folding that are worth folding into the indexes. */
const FOLD_ROWS = 2000

const partitionsFor = (rows: number): number => Math.max(1, Math.min(MOST_PARTITIONS, Math.round(Math.sqrt(rows))))

/** Search settings to try, cheapest first. At 500,000 rows (707 partitions) the first gives 0.985, at 2 million 0.979 (measured). */
const ladder = (partitions: number): number[] => {
  const steps: number[] = []
  for (let nprobes = Math.min(200, Math.ceil(partitions / 7)); nprobes < partitions; nprobes *= 2) steps.push(nprobes)
  return [...steps, partitions]
}

/**
 * recall@10: the share of the ten best by exact search that the approximate one finds, averaged over stored vectors as
 * queries. Equal scores count as found: duplicates of a passage are interchangeable.
 */
export const measureRecall = async (table: Table, settings: AnnSettings, sample: number): Promise<number> => {
  const rows = await table.countRows()
  const count = Math.min(sample, rows)
  const offsets = Array.from({ length: count }, (_, i) => Math.floor(((i + 0.5) * rows) / count))
  const queries = await table.takeOffsets(offsets).select(['id', 'vector']).toArrow()
  let [found, wanted] = [0, 0]
  for (let i = 0; i < queries.numRows; i++) {
    const query = fromHalves(halvesAt(queries, i))
    const exact = await searchVector(table, undefined, query, { k: RECALL_AT })
    const approximate = await searchVector(table, settings, query, { k: RECALL_AT })
    const last = exact.at(-1)?.score ?? 0
    found += approximate.filter((hit) => hit.score >= last - 1e-5 * Math.max(1, Math.abs(last))).length
    wanted += exact.length
  }
  return wanted === 0 ? 1 : found / wanted
}

/**
 * Builds the indexes that a table of its size should have, or brings them up to date, and chooses the search settings by
 * measuring recall. Searches go on meanwhile.
 * @throws IndexError index_invalid if even reading every partition does not reach the wanted recall.
 */
export const buildIndexes = async (table: Table, policy: SearchPolicy = SEARCH_POLICY): Promise<AnnSettings | undefined> => {
  await foldIndexes(table)
  const rows = await table.countRows()
  const known = (await readMetadata(table)).ann
  if (rows < policy.exactBelow) return known
  const wanted = partitionsFor(rows)
  const rebuild = known === undefined || wanted >= known.partitions * REPARTITION
  if (!rebuild && rows < known.rows * REMEASURE) return known
  if (rebuild) await writing(table, () => table.createIndex('vector', { config: vectorIndexConfig(wanted) }))
  return tune(table, rebuild ? wanted : known.partitions, rows, policy)
}

const tune = async (table: Table, partitions: number, rows: number, policy: SearchPolicy): Promise<AnnSettings> => {
  let best = 0
  for (const nprobes of ladder(partitions)) {
    const settings = { partitions, nprobes, refine: REFINE, rows, recall: 0 }
    const recall = await measureRecall(table, settings, policy.sample)
    if (recall >= policy.minRecall) {
      const chosen = { ...settings, recall: Math.round(recall * 1e4) / 1e4 }
      await writing(table, () => writeAnn(table, chosen))
      return chosen
    }
    best = Math.max(best, recall)
  }
  throw new IndexError('index_invalid', `The vector index of ${table.name} reaches recall@10 ${best.toFixed(3)} of the wanted ${policy.minRecall}: it is not put into service. Lower the limit, or check that the vectors differ.`, 'recall')
}

/**
 * Scalar and text indexes. One that covers less than half of the rows is made anew, which reads one column; smaller
 * additions are folded into all indexes, which also compacts the table.
 */
const foldIndexes = async (table: Table): Promise<void> => {
  const rows = await table.countRows()
  for (const column of TEXT_COLUMNS) {
    if ((await uncovered(table, column, rows)) * 2 > rows) await writing(table, () => table.createIndex(column, { config: textIndexConfig() }))
  }
  if ((await uncovered(table, 'id', rows)) === rows) await writing(table, () => table.createIndex('id', { config: idIndexConfig() }))
  const left = await Promise.all(['vector', 'id', ...TEXT_COLUMNS].map(async (column) => ((await indexOf(table, column)) === undefined ? 0 : uncovered(table, column, rows))))
  if (Math.max(...left) >= FOLD_ROWS) await writing(table, () => table.optimize())
}

const indexOf = async (table: Table, column: string): Promise<string | undefined> => (await table.listIndices()).find(({ columns }) => columns.includes(column))?.name

/** Rows that a column's index does not cover: all of them if there is none. */
const uncovered = async (table: Table, column: string, rows: number): Promise<number> => {
  const name = await indexOf(table, column)
  return name === undefined ? rows : ((await table.indexStats(name))?.numUnindexedRows ?? rows)
}

/** Loads a table's indexes into memory: the first query then takes 14 ms instead of 89 (measured at 500,000 rows). */
export const prewarm = async (table: Table): Promise<void> => {
  for (const { name } of await table.listIndices()) await table.prewarmIndex(name)
}
