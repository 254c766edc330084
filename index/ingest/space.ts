import { stat } from 'node:fs/promises'
import { sizeText } from '../../base/at.ts'
import { diskFull } from '../../base/errors.ts'
import { storeOf } from '../store/store-of.ts'

/** Bytes of a passage in a table beside its text and vector: offsets, indexes, manifests. */
const ROW_BYTES = 200
/** Text in a table and its full-text indexes, per byte of the planned copy. */
const TEXT_SHARE = 1.2
/** Upper estimate of the expansion of gzip and Parquet text. */
const EXPANSION = 4
/** Kept free for journals and job records. */
const MARGIN = 256 * 1024

/** Estimates the planned size of a corpus file, which is about that of its text; 0 if there is none. */
export async function planBytes(path: string): Promise<number> {
  const { size = 0 } = (await stat(path).catch(() => undefined)) ?? {}
  return size * (/\.(gz|gzip|parquet)$/i.test(path) ? EXPANSION : 1.2)
}

/** Estimates the bytes of a table. @param text bytes of the planned text */
export function tableBytes(text: number, rows: number, dimension: number): number {
  return text * TEXT_SHARE + rows * (dimension * 2 + ROW_BYTES)
}

/** An object store is assumed to have unlimited space. @throws disk_full if fewer than `bytes` are free */
export async function requireSpace(folder: string, bytes: number, what: string): Promise<void> {
  const free = await storeOf(folder).freeBytes(folder)
  if (free >= bytes + MARGIN) return
  const [needed, left] = [sizeText(bytes + MARGIN, Math.ceil), sizeText(free, Math.floor)]
  throw diskFull(folder, `${what} needs about ${needed} in ${folder}, where ${left} are free: free space, then resume.`)
}
