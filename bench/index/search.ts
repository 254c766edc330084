import { execFile } from 'node:child_process'
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { promisify } from 'node:util'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { at, sum } from '../../base/at.ts'
import { parseJson } from '../../base/json.ts'
import { bytesUnder } from '../../index/store/store-of.ts'
import { readAlias, tableFolder } from '../../index/versions/alias.ts'
import { connectLance, prewarm } from '../../index/table/lance.ts'
import { readMetadata, type AnnSettings } from '../../index/table/metadata.ts'
import { searchHybrid } from '../../index/search/hybrid.ts'
import { searchVector, searchWords } from '../../index/search/search.ts'
import { clusteredVector, DIMENSION, syntheticPassage } from '../../test/fixtures/synthetic-corpus.ts'
import { benchFolder, quantile } from '../measure.ts'

const K = 10

export type SearchFigures = Omit<Awaited<ReturnType<typeof timed>>, 'found'> & { readonly name: string }

/** Times in milliseconds, with the processor time of a search on all threads; and recall of the truth's ids. */
async function timed(
  queries: readonly Float32Array[],
  search: (query: Float32Array, at: number) => Promise<string[]>,
  truth?: readonly ReadonlySet<string>[],
) {
  const times: number[] = []
  const found: Set<string>[] = []
  const before = process.cpuUsage()
  for (const [at, query] of queries.entries()) {
    const started = performance.now()
    found.push(new Set(await search(query, at)))
    times.push(performance.now() - started)
  }
  const { user, system } = process.cpuUsage(before)
  const right = truth?.map((wanted, i) => [...wanted].filter((id) => found[i]?.has(id)).length) ?? []
  return {
    found,
    recall: truth === undefined ? 1 : sum(right) / (K * queries.length),
    cpu: (user + system) / 1000 / queries.length,
    p50: quantile(times, 0.5),
    p95: quantile(times, 0.95),
  }
}

/**
 * Latency, processor time and recall@10 of exact search and of the index at several settings, those in service marked, and of faiss.
 * @param python a Python with faiss-cpu and numpy; '' leaves faiss out
 */
export async function* searchFigures(
  dir: string,
  name: string,
  rows: number,
  queries: number,
  python: string,
): AsyncGenerator<SearchFigures> {
  const connection = await connectLance(dir, 500)
  const table = await connection.openTable((await readAlias({ dir, table: name })) ?? '')
  const metadata = await readMetadata(table)
  const { ann } = metadata
  const vectors = Array.from({ length: queries }, (_, i) => clusteredVector(rows + i, rows))
  const ids = (settings?: AnnSettings) => async (query: Float32Array) =>
    (await searchVector(table, settings, query, { k: K })).map((hit) => hit.id)
  const exact = await timed(vectors, ids())
  yield { name: 'exact', ...exact, recall: 1 }
  if (ann !== undefined) {
    await prewarm(table)
    const others = [8, ann.partitions].flatMap((nprobes) => [4, 10, 20].map((refine) => ({ ...ann, nprobes, refine })))
    for (const settings of [ann, ...others]) {
      await timed(vectors.slice(0, 5), ids(settings))
      const label = `ivf_rq, nprobes ${settings.nprobes} of ${ann.partitions}, refine ${settings.refine}${settings === ann ? ' (in service)' : ''}`
      yield { name: label, ...(await timed(vectors, ids(settings), exact.found)) }
    }
  }
  const words = Array.from({ length: queries }, (_, i) =>
    syntheticPassage(i * 7)
      .text.split(' ')
      .slice(20, 26)
      .join(' '),
  )
  const text = await timed(vectors, async (_, probe) => (await searchWords(table, at(words, probe), { k: K })).map((hit) => hit.id))
  yield { name: 'BM25, six words', ...text, recall: NaN }
  const both = await timed(vectors, async (vector, probe) =>
    (await searchHybrid(table, metadata, { query: at(words, probe), vector }, { k: K })).map((hit) => hit.id),
  )
  yield { name: 'hybrid', ...both, recall: NaN }
  if (python !== '') yield* await faissFigures(python, vectors, rows)
  connection.close()
}

const FaissSchema = Type.Object({ name: Type.String(), recall: Type.Number(), cpu: Type.Number() })

/** faiss in memory on the same vectors, one thread (faiss_search.py). */
async function faissFigures(python: string, queries: readonly Float32Array[], rows: number): Promise<SearchFigures[]> {
  await using temporary = await benchFolder()
  const folder = temporary.path
  await writeFile(join(folder, 'queries.f32'), Buffer.concat(queries.map((vector) => new Uint8Array(vector.buffer))))
  for (let row = 0; row < rows; row++) await appendFile(join(folder, 'vectors.f32'), new Uint8Array(clusteredVector(row, rows).buffer))
  // npm runs scripts in the package's folder.
  const { stdout } = await promisify(execFile)(python, ['bench/index/faiss_search.py', folder, String(DIMENSION)])
  const lines = stdout.trim().split('\n')
  return lines.map((line) => ({ ...Value.Parse(FaissSchema, parseJson(line)), p50: NaN, p95: NaN }))
}

/** Bytes on disk of a stored table, by part. */
export async function diskOf(dir: string, name: string): Promise<{ data: number; indexes: number }> {
  const folder = tableFolder(dir, (await readAlias({ dir, table: name })) ?? '')
  return { data: await bytesUnder(join(folder, 'data')), indexes: await bytesUnder(join(folder, '_indices')) }
}
