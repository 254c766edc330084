import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { at } from '../../../base/at.ts'
import { openIndex } from '../../../index/open.ts'
import { compactionCommand } from '../../../index/compaction/command.ts'
import { clusteredVector } from '../../../test/fixtures/synthetic-corpus.ts'
import { clusteredIn, clusters, indexedTable } from '../../../test/fixtures/synthetic-table.ts'
import { outputOf } from '../scripts.ts'

const RESTARTS = 20
const QUERIES = 100
const WARM = 20
const ROUNDS = 4

/** Search times of a freshly opened index, in milliseconds. */
async function searchTimes(dir: string, rows: number, first: number): Promise<number[]> {
  const index = await openIndex({ dir, model: clusters })
  const times: number[] = []
  for (let query = 0; query < WARM + QUERIES; query++) {
    const started = performance.now()
    await index.search(clusteredVector(2 * rows + first + query, rows), { k: 10 })
    if (query >= WARM) times.push(performance.now() - started)
  }
  index.close()
  return times
}

/** Median times per folder, measured in turns, so that other load affects all alike. */
async function searchMedians(dirs: readonly string[], rows: number): Promise<number[]> {
  const times = dirs.map((): number[] => [])
  for (let round = 0; round < ROUNDS; round++)
    for (const [i, dir] of dirs.entries()) at(times, i).push(...(await searchTimes(dir, rows, round * QUERIES)))
  return times.map((all) =>
    at(
      all.toSorted((a, b) => a - b),
      all.length >> 1,
    ),
  )
}

/** Search after many single-passage puts by twenty sequential processes, against the same table after compaction. */
export async function putsRow(folder: string, rows: number, puts: number): Promise<string[]> {
  const [dir, untouched, tidied] = [join(folder, 'put'), join(folder, 'untouched'), join(folder, 'tidied')]
  await indexedTable(dir, clusters, rows, clusteredIn(rows))
  // In one file, as written by a job.
  await compactionCommand({ dir, table: 'passages', task: 'compact', keepMs: 0, dryRun: false })
  await cp(dir, untouched, { recursive: true })
  const script = fileURLToPath(new URL('./processes/putting-process.js', import.meta.url))
  const each = Math.ceil(puts / RESTARTS)
  const started = performance.now()
  for (let restart = 0; restart < RESTARTS; restart++) await outputOf(script, [dir, each, rows + restart * each, rows].map(String))
  const seconds = (performance.now() - started) / 1000
  await cp(dir, tidied, { recursive: true })
  const { before } = await compactionCommand({ dir: tidied, table: 'passages', task: 'compact', keepMs: 0, dryRun: false })
  const [put = NaN, tidy = NaN, fresh = NaN] = await searchMedians([dir, tidied, untouched], rows)
  return [
    `search p50 after ${(each * RESTARTS).toLocaleString('en')} PUTs of one passage over ${RESTARTS} processes, against the table tidied, and that against one that nothing was put into (${rows.toLocaleString('en')} passages)`,
    `${(put / tidy).toFixed(2)}x, ${(tidy / fresh).toFixed(2)}x: ${put.toFixed(1)} ms in ${before.fragments} fragments, ${tidy.toFixed(1)} ms tidied, ${fresh.toFixed(1)} ms before; ${seconds.toFixed(0)} s`,
  ]
}
