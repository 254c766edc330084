import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { passageText } from '../../../index/contract.ts'
import { readAlias } from '../../../index/versions/alias.ts'
import { connectLance } from '../../../index/table/lance.ts'
import { stringAt } from '../../../index/table/rows.ts'
import { createProgress } from '../../../src/cli/program/progress.ts'
import { loadConfig } from '../../../src/config.ts'
import { configuredModel } from '../../../src/service/indexing.ts'
import { ensureRetriever } from '../../../src/service/setup.ts'
import { embedWords, hashedWords } from '../../../test/fixtures/hashed-words.ts'
import { noiseVector, syntheticPassage } from '../../../test/fixtures/synthetic-corpus.ts'
import { indexedTable } from '../../../test/fixtures/synthetic-table.ts'
import { outputOf } from '../scripts.ts'
import { send, type Call } from '../service/load.ts'
import { ADMIN_KEY, startServer } from '../service/server.ts'

/** Passages of one PUT. */
const PER_REQUEST = 5

export interface Contention {
  readonly writes: number
  readonly failedWrites: number
  readonly reads: number
  readonly failedReads: number
  /** Statuses of failed requests with counts. */
  readonly failures: ReadonlyMap<number, number>
  readonly versions: number
}

/** Three writers and eight readers over HTTP on a table with a vector index, during compaction. */
export async function contention(dir: string, rows: number, seconds: number): Promise<Contention> {
  const config = loadConfig()
  await ensureRetriever(config, createProgress)
  const model = await configuredModel(config)
  await indexedTable(dir, model, rows, (number) => noiseVector(number, model.dimension))
  const server = await startServer({ CEPE_INDEX_DIR: dir, CEPE_CORPUS: '' })
  const counts = { writes: 0, failedWrites: 0, reads: 0, failedReads: 0 }
  const failures = new Map<number, number>()
  const headers = { authorization: `Bearer ${ADMIN_KEY}` }
  const failed = async (call: Call): Promise<boolean> => {
    const { status } = await send(server.url, { ...call, headers })
    if (status === 200) return false
    failures.set(status, 1 + (failures.get(status) ?? 0))
    return true
  }
  const version = async (): Promise<number> => {
    const { body } = await send(server.url, { method: 'GET', path: '/v1/admin/index', headers })
    return Number(/"version":(\d+)/.exec(String(body))?.[1])
  }
  try {
    const before = await version()
    const end = performance.now() + seconds * 1000
    const writer = async (number: number): Promise<void> => {
      for (let i = 0; performance.now() < end; i++) {
        const passages = Array.from({ length: PER_REQUEST }, (_, j) => syntheticPassage(rows + number * 1e6 + i * PER_REQUEST + j))
        counts.writes++
        if (await failed({ method: 'PUT', path: '/v1/passages', body: { passages } })) counts.failedWrites++
      }
    }
    const reader = async (number: number): Promise<void> => {
      for (let i = 0; performance.now() < end; i++) {
        counts.reads++
        const look = { method: 'GET', path: i % 20 === 9 ? '/readyz' : '/v1/admin/index' }
        const search = { path: '/v1/search', body: { query: `question ${number} ${i}`, k: 10 } }
        if (await failed(i % 10 === 9 ? look : search)) counts.failedReads++
      }
    }
    await Promise.all([...[0, 1, 2].map(writer), ...Array.from({ length: 8 }, (_, number) => reader(number))])
    return { ...counts, failures, versions: (await version()) - before }
  } finally {
    await server.stop()
  }
}

export interface Doubles {
  readonly inserts: number
  readonly failed: number
  readonly rows: number
  readonly expected: number
  readonly doubles: number
}

/** Three processes insert the same new passages, each request three times concurrently. @param inserts total of all three */
export async function doubles(dir: string, rows: number, inserts: number): Promise<Doubles> {
  await indexedTable(dir, hashedWords, rows, (number) => embedWords(passageText(syntheticPassage(number))))
  const fresh = Math.ceil(inserts / 9)
  const process = fileURLToPath(new URL('./processes/inserting-process.js', import.meta.url))
  const outputs = await Promise.all(['a', 'b', 'c'].map((source) => outputOf(process, [dir, String(fresh), '50000000', source])))
  const failed = outputs.reduce((sum, output) => sum + Number(/failed (\d+)/.exec(output)?.[1] ?? NaN), 0)
  const connection = await connectLance(dir, 0)
  const alias = await readAlias(dir, 'passages')
  const found = await (await connection.openTable(alias?.stored_as ?? '')).query().select(['id']).toArrow()
  connection.close()
  const ids = new Set(Array.from({ length: found.numRows }, (_, row) => stringAt(found, 'id', row)))
  return { inserts: fresh * 9, failed, rows: found.numRows, expected: rows + fresh, doubles: found.numRows - ids.size }
}

function said(failures: ReadonlyMap<number, number>): string {
  return failures.size === 0 ? 'no status but 200' : [...failures].map(([status, times]) => `${times} times ${status}`).join(', ')
}

/** Both, as table rows. */
export async function contentionRows(folder: string, options: { rows: number; seconds: number; inserts: number }): Promise<string[][]> {
  const rows: string[][] = []
  const table = `${options.rows.toLocaleString('en')} passages with a vector index`
  if (options.seconds > 0) {
    const { writes, failedWrites, reads, failedReads, failures, versions } = await contention(
      join(folder, 'contention'),
      options.rows,
      options.seconds,
    )
    rows.push([
      `requests that fail while 3 writers and 8 readers work over HTTP for ${options.seconds} s on ${table}, tidying included`,
      `${failedWrites} of ${writes} PUTs, ${failedReads} of ${reads} reads (${said(failures)}); ${versions} versions of the table`,
    ])
  }
  if (options.inserts > 0) {
    const many = await doubles(join(folder, 'doubles'), options.rows, options.inserts)
    rows.push([
      `doubles after ${many.inserts.toLocaleString('en')} contended inserts of ${(many.expected - options.rows).toLocaleString('en')} new ids by 3 processes, each sent three times at once, ${table}`,
      `${many.doubles}; ${many.rows} of ${many.expected} rows, ${many.failed} requests failed`,
    ])
  }
  return rows
}
