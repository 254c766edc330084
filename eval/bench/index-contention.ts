import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { passageText, type Passage } from '../../index/contract.ts'
import { contentHash } from '../../index/hash.ts'
import { openIndex } from '../../index/open.ts'
import { buildIndexes } from '../../index/search/ann.ts'
import { readAlias, writeAlias } from '../../index/table/alias.ts'
import { createTable } from '../../index/table/create.ts'
import { connectLance } from '../../index/table/lance.ts'
import { packVectors, stringAt } from '../../index/table/rows.ts'
import { appendRows, chunks } from '../../index/table/write.ts'
import { embedWords, hashedWords } from './hashed-words.ts'
import { syntheticPassage } from './index-corpus.ts'

const BATCH = 4096
const PER_REQUEST = 5
const TIDY_AFTER = 30

function vectorsOf(passages: readonly Passage[]): Float32Array[] {
  return passages.map((passage) => embedWords(passageText(passage)))
}

/** A table of so many rows with a vector index and an index of the ids. */
async function indexed(dir: string, rows: number): Promise<void> {
  const connection = await connectLance(dir, 0)
  const table = await createTable(connection, 'passages.bench', hashedWords)
  for (const some of chunks([...Array(rows).keys()], BATCH)) {
    const passages = some.map(syntheticPassage)
    const halves = packVectors(passages, vectorsOf(passages), hashedWords.dimension)
    await appendRows(table, { passages, hashes: passages.map(contentHash), halves }, hashedWords.dimension)
  }
  await buildIndexes(table, { exactBelow: 1000, minRecall: 0.5, sample: 16 })
  await writeAlias(dir, 'passages', { stored_as: 'passages.bench', replaced_by_job: null })
  connection.close()
}

export interface Contention {
  readonly writes: number
  readonly failedWrites: number
  readonly reads: number
  readonly failedReads: number
  readonly warnings: readonly string[]
}

/** Three writers and eight readers at once on a table with a vector index, tidying included. */
export async function contention(dir: string, rows: number, seconds: number): Promise<Contention> {
  await indexed(dir, rows)
  const warnings: string[] = []
  const index = await openIndex({ dir, model: hashedWords, tidyAfter: TIDY_AFTER, onWarning: (message) => warnings.push(message) })
  const counts = { writes: 0, failedWrites: 0, reads: 0, failedReads: 0 }
  const end = performance.now() + seconds * 1000
  const writer = async (number: number): Promise<void> => {
    for (let i = 0; performance.now() < end; i++) {
      const passages = Array.from({ length: PER_REQUEST }, (_, j) => syntheticPassage(rows + number * 1e6 + i * PER_REQUEST + j))
      counts.writes++
      await index.upsert(passages, vectorsOf(passages)).catch(() => counts.failedWrites++)
    }
  }
  const reader = async (number: number): Promise<void> => {
    for (let i = 0; performance.now() < end; i++) {
      counts.reads++
      const read = i % 10 === 9 ? index.info() : index.search(embedWords(`question ${number} ${i}`), { k: 10 })
      await read.catch(() => counts.failedReads++)
    }
  }
  await Promise.all([...[0, 1, 2].map(writer), ...Array.from({ length: 8 }, (_, number) => reader(number))])
  index.close()
  return { ...counts, warnings }
}

export interface Doubles {
  readonly inserts: number
  readonly failed: number
  readonly rows: number
  readonly expected: number
  readonly doubles: number
}

/** The same new passages inserted by three processes, each request three times at once. @param inserts of all three together. */
export async function doubles(dir: string, rows: number, inserts: number): Promise<Doubles> {
  await indexed(dir, rows)
  const fresh = Math.ceil(inserts / 9)
  const process = fileURLToPath(new URL('./inserting-process.js', import.meta.url))
  const outputs = await Promise.all(['a', 'b', 'c'].map((source) => outputOf(process, [dir, String(fresh), '50000000', source])))
  const failed = outputs.reduce((sum, output) => sum + Number(/failed (\d+)/.exec(output)?.[1] ?? NaN), 0)
  const connection = await connectLance(dir, 0)
  const alias = await readAlias(dir, 'passages')
  const found = await (await connection.openTable(alias?.stored_as ?? '')).query().select(['id']).toArrow()
  connection.close()
  const ids = new Set(Array.from({ length: found.numRows }, (_, row) => stringAt(found, 'id', row)))
  return { inserts: fresh * 9, failed, rows: found.numRows, expected: rows + fresh, doubles: found.numRows - ids.size }
}

async function outputOf(script: string, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await once(child, 'close')
  return output
}

/** Both, as lines for people. */
export async function contentionLines(folder: string, options: { rows: number; seconds: number; inserts: number }): Promise<string[]> {
  const busy = await contention(join(folder, 'contention'), options.rows, options.seconds)
  const many = await doubles(join(folder, 'doubles'), options.rows, options.inserts)
  return [
    `Three writers and eight readers for ${options.seconds} s on ${options.rows.toLocaleString('en')} passages with a vector index, tidying included: ` +
      `${busy.failedWrites} of ${busy.writes} writes and ${busy.failedReads} of ${busy.reads} reads failed; ${busy.warnings.length} warnings.`,
    ...busy.warnings.slice(0, 3),
    `Three processes, ${many.inserts.toLocaleString('en')} contended inserts of ${(many.expected - options.rows).toLocaleString('en')} new ids: ` +
      `${many.failed} requests failed, ${many.rows} of ${many.expected} rows, ${many.doubles} doubles.`,
  ]
}
