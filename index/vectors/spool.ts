import { open } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { LineFile } from '../ingest/plan/shard-files.ts'
import { packVector } from '../table/rows.ts'
import { idLines } from './npy.ts'
import { NUMBER_BYTES, refuse, type VectorRow, type VectorSource } from './rows.ts'

const ROWS_PER_WRITE = 1024

export interface SpoolOptions {
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
export async function spoolVectors(rows: AsyncIterable<VectorRow>, { path, dimension, work, number }: SpoolOptions): Promise<VectorSource> {
  const [numbers, ids] = [join(work, `${number}.f16`), join(work, `${number}.ids.txt`)]
  const list = new LineFile(ids)
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
