import { open, readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { notFound } from '../../base/errors.ts'
import { headOf } from '../../base/files.ts'
import { lineFile } from '../ingest/plan/shard-files.ts'
import { isGzip, isParquet, isZstd } from '../read/sniff.ts'
import { packVector } from '../table/rows.ts'
import { idLines, NPY_MAGIC, openNpy } from './npy.ts'
import { openNumpyPickle, PICKLE_PROTO } from './numpy-pickle.ts'
import { NUMBER_BYTES, readJsonVectors, readParquetVectors, refuse, type VectorRow, type VectorSource } from './rows.ts'

const ROWS_PER_WRITE = 1024

interface SpoolOptions {
  readonly path: string
  readonly dimension: number
  /** Folder for temporary files, 2 bytes per number. */
  readonly work: string
  readonly number: number
}

/**
 * Writes vectors of a row-based file to a matrix of float16 and a list of ids, for random access.
 * @throws index_invalid for a vector of another length, or with numbers that do not fit float16
 */
async function spoolVectors(rows: AsyncIterable<VectorRow>, { path, dimension, work, number }: SpoolOptions): Promise<VectorSource> {
  const [numbers, ids] = [join(work, `${number}.f16`), join(work, `${number}.ids.txt`)]
  const list = lineFile(ids)
  const file = await open(numbers, 'w')
  const held = new Uint16Array(ROWS_PER_WRITE * dimension)
  let [count, total] = [0, 0]
  const flush = async (): Promise<void> => {
    await file.writeFile(new Uint8Array(held.buffer, 0, count * dimension * NUMBER_BYTES.f16))
    total += count
    count = 0
  }
  try {
    for await (const row of rows) {
      packVector(row, held, count, dimension)
      await list.write(row.id)
      if (++count === ROWS_PER_WRITE) await flush()
    }
    await flush()
  } finally {
    await file.close()
    await list.close()
  }
  if (total === 0) refuse(basename(path), 'holds no vectors')
  return { name: basename(path), path: numbers, type: 'f16', rows: total, dimension, offset: 0, ids: () => idLines(ids) }
}

const HEAD_BYTES = 8
const IDS = /\.ids\.txt$/

/** Expands arguments to files; a folder stands for its files, sorted by name. @throws not_found */
export async function vectorFiles(given: readonly string[]): Promise<string[]> {
  const files: string[] = []
  for (const path of given) {
    const found = await stat(path).catch(() => undefined)
    if (found === undefined) throw notFound('files', `The file ${path} does not exist.`)
    const names = found.isDirectory() ? (await readdir(path)).filter((name) => !name.startsWith('.')).sort() : ['']
    files.push(...names.map((name) => join(path, name)))
  }
  const vectors = files.filter((path) => !IDS.test(path))
  if (vectors.length === 0) throw notFound('files', 'These folders hold no vector files.')
  return vectors
}

/**
 * Opens a vector file of any supported format, detected by its first bytes: numpy pickle or .npy, JSON lines or Parquet.
 * @throws corpus_invalid for another format, damage, or another dimension
 */
export async function openVectors(options: SpoolOptions): Promise<VectorSource> {
  const { path, dimension } = options
  const source = await openByHead(await headOf(path, HEAD_BYTES), options)
  if (source.dimension !== dimension)
    refuse(source.name, `has vectors of ${source.dimension} numbers, the model of the plan makes ${dimension}`)
  return source
}

async function openByHead(head: Buffer, options: SpoolOptions): Promise<VectorSource> {
  const { path, dimension } = options
  if (head[0] === PICKLE_PROTO) return openNumpyPickle(path)
  if (head.subarray(0, NPY_MAGIC.length).equals(NPY_MAGIC)) return openNpy(path)
  if (isParquet(head)) return spoolVectors(readParquetVectors(path, dimension), options)
  if (isGzip(head) || isZstd(head) || head.toString('latin1').trimStart().startsWith('{'))
    return spoolVectors(readJsonVectors(path), options)
  return refuse(basename(path), 'holds no vectors: pickles of ids and a numpy array, .npy with .ids.txt, JSON lines and Parquet are read')
}
