import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { at } from '../../../base/at.ts'
import type { Passage, SearchFilter } from '../../../index/contract.ts'
import { contentHash } from '../../../index/hash.ts'
import { updateIndexes } from '../../../index/search/update-indexes.ts'
import { searchVector } from '../../../index/search/search.ts'
import { storeOf } from '../../../index/store/store-of.ts'
import { createBaseTable, createTable } from '../../../index/table/create.ts'
import { connectLance, type Connection, type Table } from '../../../index/table/lance.ts'
import { tableFolder } from '../../../index/versions/alias.ts'
import { arrowTable, packVectors } from '../../../index/table/rows.ts'
import { appendRows } from '../../../index/table/write.ts'
import { syntheticPassage } from '../../../test/fixtures/synthetic-corpus.ts'
import { uniform } from '../../../test/fixtures/synthetic-checkpoint.ts'

const DIMENSION = 768
const BATCH = 4096
const QUERIES = 15
const LANGUAGES = ['en', 'de', 'fr', 'es']
const FILTERS: Readonly<Record<string, SearchFilter | undefined>> = {
  none: undefined,
  'equal, a quarter': { metadata: { lang: 'de' } },
  'equal, 1 in 1,000': { metadata: { tags: 't77' } },
  'in, 2 in 1,000': { metadata: { tags: ['t77', 't78'] } },
  'range, a fifth': { metadata: { year: { gte: 2000 } } },
  'prefix, 1 in 100': { metadata: { path: { prefix: 'docs/7/' } } },
  'equal and range': { metadata: { tags: 't77', year: { gte: 2000 } } },
}
const BASE_COLUMNS = ['id', 'title', 'text', 'vector', 'source', 'hash']

/** Question and passages of random numbers, drawn in a fixed order. */
function drawer() {
  const random = uniform(1)
  const vector = (): Float32Array => Float32Array.from({ length: DIMENSION }, () => random() - 0.5)
  return { random, vector }
}
type Drawer = ReturnType<typeof drawer>

interface Filling {
  readonly rows: number
  readonly vector: Drawer['vector']
  readonly metadata?: (number: number) => Passage['metadata']
  /** Those of the table, where it has not all. */
  readonly columns?: string[]
}

async function fill(table: Table, { rows, vector, metadata = () => undefined, columns }: Filling): Promise<void> {
  for (let first = 0; first < rows; first += BATCH) {
    const passages = Array.from({ length: Math.min(BATCH, rows - first) }, (_, i): Passage => {
      const own = metadata(first + i)
      return { ...syntheticPassage(first + i), ...(own && { metadata: own }) }
    })
    const vectors = passages.map(vector)
    const batch = { passages, hashes: passages.map(contentHash), halves: packVectors(passages, vectors, DIMENSION) }
    if (columns === undefined) await appendRows(table, batch, DIMENSION)
    else await table.add(arrowTable(batch, DIMENSION).select(columns))
  }
}

/** A table as a version without metadata made it, one of today without any, and one with. None has indexes. */
async function threeTables(connection: Connection, rows: number, { random, vector }: Drawer) {
  const model = { id: 'random', dimension: DIMENSION }
  const bare = async (name: string): Promise<Table> => {
    const table = await createTable(connection, name, model)
    for (const { name: index } of await table.listIndices()) await table.dropIndex(index)
    return table
  }
  const former = await createBaseTable(connection, 'former', model)
  await former.addColumns(['source', 'hash'].map((name) => ({ name, valueSql: 'CAST(NULL AS STRING)' })))
  await fill(former, { rows, vector, columns: BASE_COLUMNS })
  const absent = await bare('absent')
  await fill(absent, { rows, vector })
  const present = await bare('present')
  const metadata = (number: number): Passage['metadata'] => ({
    year: 1900 + Math.floor(random() * 125),
    lang: at(LANGUAGES, Math.floor(random() * LANGUAGES.length)),
    path: `docs/${Math.floor(random() * 100)}/${number}.html`,
    tags: [`t${Math.floor(random() * 1000)}`, 'x'],
  })
  await fill(present, { rows, vector, metadata })
  return { former, absent, present }
}

/**
 * What metadata costs a table that has none, and filters by metadata on one that has: `metadata.js [rows]`. Vectors are random
 * numbers; exact search; p50 of 15 queries, k = 10.
 */
async function measure(rows: number): Promise<void> {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-metadata-'))
  const connection = await connectLance(dir, 0)
  const drawn = drawer()
  const question = drawn.vector()
  const search = (table: Table, filter?: SearchFilter) => () =>
    searchVector(table, undefined, question, { k: 10, ...(filter && { filter }) })
  const say = (text: string): void => void process.stdout.write(`${text}\n`)
  try {
    const { former, absent, present } = await threeTables(connection, rows, drawn)
    for (const name of ['former', 'absent', 'present'])
      say(`${name}: ${((await storeOf(dir).files.bytes(path.join(tableFolder(dir, name), 'data'))) / rows).toFixed(1)} bytes a passage`)
    const plain = ['id', 'title', 'text', 'source', '_distance']
    const without = () =>
      former.query().nearestTo(question).column('vector').distanceType('dot').limit(10).select(plain).bypassVectorIndex().toArray()
    const [before, now] = await inTurns(without, search(absent))
    say(`search without metadata: ${before.toFixed(1)} ms before the columns, ${now.toFixed(1)} ms with them`)
    for (const indexed of [false, true]) {
      if (indexed) await updateIndexes(present, { rows, large: true, keepMs: 0 })
      for (const [name, filter] of Object.entries(FILTERS))
        say(`${indexed ? 'with' : 'without'} the index; ${name}: ${(await p50(search(present, filter))).toFixed(1)} ms`)
    }
  } finally {
    connection.close()
    await rm(dir, { recursive: true, force: true })
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

function middle(times: readonly number[]): number {
  return at(
    [...times].sort((a, b) => a - b),
    times.length >> 1,
  )
}

async function p50(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < QUERIES; i++) times.push(await timed(work))
  return middle(times)
}

/** Two ways in turns, so that what else the machine does meets both. */
async function inTurns(one: () => Promise<unknown>, other: () => Promise<unknown>): Promise<[number, number]> {
  const [ones, others]: [number[], number[]] = [[], []]
  for (let i = 0; i < 3 * QUERIES; i++) {
    ones.push(await timed(one))
    others.push(await timed(other))
  }
  return [middle(ones), middle(others)]
}

const [rows = '100000'] = process.argv.slice(2)
await measure(Number(rows))
