import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { readAlias, tableFolder } from '../../index/alias.ts'
import { prewarm } from '../../index/ann.ts'
import { connectLance, type Table } from '../../index/lance.ts'
import { readMetadata, type AnnSettings } from '../../index/metadata.ts'
import { searchVector, searchWords } from '../../index/search.ts'
import { clusteredVector, syntheticPassage } from './index-corpus.ts'

const K = 10

export interface SearchFigures {
  readonly name: string
  readonly recall: number
  readonly p50: number
  readonly p95: number
}

const percentile = (sorted: readonly number[], share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

const timed = async (queries: readonly Float32Array[], search: (query: Float32Array, at: number) => Promise<string[]>, truth?: readonly ReadonlySet<string>[]): Promise<{ found: Set<string>[]; recall: number; p50: number; p95: number }> => {
  const times: number[] = []
  const found: Set<string>[] = []
  for (const [at, query] of queries.entries()) {
    const started = performance.now()
    found.push(new Set(await search(query, at)))
    times.push(performance.now() - started)
  }
  const right = truth?.map((wanted, i) => [...wanted].filter((id) => found[i]?.has(id)).length) ?? []
  times.sort((a, b) => a - b)
  return { found, recall: truth === undefined ? 1 : right.reduce((a, b) => a + b, 0) / (K * queries.length), p50: percentile(times, 0.5), p95: percentile(times, 0.95) }
}

/** Latency and recall@10 of exact search and of the index at several settings; the settings in service are marked. */
export const searchFigures = async (dir: string, name: string, rows: number, queries: number): Promise<SearchFigures[]> => {
  const connection = await connectLance(dir, 500)
  const alias = await readAlias(dir, name)
  const table: Table = await connection.openTable(alias?.stored_as ?? '')
  const { ann } = await readMetadata(table)
  const vectors = Array.from({ length: queries }, (_, i) => clusteredVector(rows + i, rows))
  const ids = (settings?: AnnSettings) => async (query: Float32Array) => (await searchVector(table, settings, query, { k: K })).map((hit) => hit.id)
  const exact = await timed(vectors, ids())
  const figures: SearchFigures[] = [{ name: 'exact', ...exact, recall: 1 }]
  if (ann !== undefined) {
    await prewarm(table)
    const steps = [...new Set([10, 25, 50, 100, 200, ann.nprobes])].filter((nprobes) => nprobes <= ann.partitions).sort((a, b) => a - b)
    for (const nprobes of steps) {
      const settings = { ...ann, nprobes }
      await timed(vectors.slice(0, 5), ids(settings))
      const label = `ivf_rq, ${ann.partitions} partitions, nprobes ${nprobes}, refine ${ann.refine}${nprobes === ann.nprobes ? ' (chosen)' : ''}`
      figures.push({ name: label, ...(await timed(vectors, ids(settings), exact.found)) })
    }
  }
  const words = Array.from({ length: queries }, (_, i) => syntheticPassage(i * 7).text.split(' ').slice(20, 26).join(' '))
  const text = await timed(vectors, async (_, at) => (await searchWords(table, words[at] ?? '', { k: K })).map((hit) => hit.id))
  figures.push({ name: 'BM25, six words', ...text, recall: NaN })
  connection.close()
  return figures
}

/** Bytes on disk of a stored table, by part. */
export const diskOf = async (dir: string, name: string): Promise<{ data: number; indexes: number }> => {
  const alias = await readAlias(dir, name)
  const folder = tableFolder(dir, alias?.stored_as ?? '')
  return { data: await bytesUnder(join(folder, 'data')), indexes: await bytesUnder(join(folder, '_indices')) }
}

const bytesUnder = async (folder: string): Promise<number> => {
  let bytes = 0
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size
  }
  return bytes
}
