import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CodedError, osCode } from '../../base/errors.ts'
import { isRemote } from '../store/location.ts'

/** What one passage takes in a table beside its text and vector: offsets, indexes, manifests. */
const ROW_BYTES = 200
/** Text in a table and its full-text indexes, per byte of the planned copy. */
const TEXT_SHARE = 1.2
/** What text expands to when it was compressed by gzip or as Parquet: the upper end of the usual. */
const EXPANSION = 4
/** Left free in any case: for journals and states of jobs. */
const MARGIN = 256 * 1024

/** Bytes that may still be written into a folder, which need not exist yet. */
async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch (error) {
    if (osCode(error) === 'ENOENT' && dirname(folder) !== folder) return freeBytes(dirname(folder))
    throw error
  }
}

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
  if (isRemote(folder)) return
  const free = await freeBytes(folder)
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
