import { stat } from 'node:fs/promises'
import { CodedError } from '../../base/errors.ts'
import { storeOf } from '../store/store-of.ts'

/** What one passage takes in a table beside its text and vector: offsets, indexes, manifests. */
const ROW_BYTES = 200
/** Text in a table and its full-text indexes, per byte of the planned copy. */
const TEXT_SHARE = 1.2
/** What text expands to when it was compressed by gzip or as Parquet: the upper end of the usual. */
const EXPANSION = 4
/** Left free in any case: for journals and states of jobs. */
const MARGIN = 256 * 1024

/** The planned copy of a corpus file is about as large as its text. @throws not_found as reading it would, later. */
export async function planBytes(path: string): Promise<number> {
  const size = await stat(path).then(
    (file) => file.size,
    () => 0,
  )
  return size * (/\.(gz|gzip|parquet)$/i.test(path) ? EXPANSION : 1.2)
}

/** What a table of so many passages takes. @param text bytes of their planned copy. */
export function tableBytes(text: number, rows: number, dimension: number): number {
  return text * TEXT_SHARE + rows * (dimension * 2 + ROW_BYTES)
}

/** An object store is taken to have room for everything. @throws disk_full where less than `bytes` are free. */
export async function requireSpace(folder: string, bytes: number, what: string): Promise<void> {
  const free = await storeOf(folder).freeBytes(folder)
  if (free >= bytes + MARGIN) return
  throw new CodedError(
    'disk_full',
    `${what} needs about ${megabytes(bytes)} in ${folder}, where ${megabytes(free)} are free: free space, then resume.`,
    { field: folder },
  )
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`
}
