import type { Hash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import { basename } from 'node:path'
import { invalid } from '../errors.ts'
import { messageOf, osCode } from '../../base/errors.ts'

/** Bytes per read of the operating system: well below its limit of 2 GiB. */
const READ_CHUNK = 1 << 26

/** One weight file, held open for positional reads. */
export interface WeightFile {
  readonly path: string
  readonly size: number
  /** Reads `length` bytes from `offset` into a new buffer. @throws checkpoint_invalid if the file ends earlier */
  read(offset: number, length: number): Promise<Uint8Array>
  close(): Promise<void>
}

/** Bytes of each tensor's start and end that are hashed for the revision: fine-tuned copies differ only there. */
const SAMPLE_BYTES = 256

/** Adds the ends of all tensors to a revision. */
export async function hashEnds(hash: Hash, file: WeightFile, tensors: readonly { readonly offset: number; readonly bytes: number }[]) {
  for (const { offset, bytes } of tensors) {
    const sample = Math.min(SAMPLE_BYTES, bytes)
    hash.update(await file.read(offset, sample)).update(await file.read(offset + bytes - sample, sample))
  }
}

async function readFully(handle: FileHandle, path: string, offset: number, length: number): Promise<Uint8Array> {
  const data = new Uint8Array(length)
  let done = 0
  while (done < length) {
    const { bytesRead } = await handle.read(data, done, Math.min(READ_CHUNK, length - done), offset + done)
    if (bytesRead === 0) {
      throw invalid(`${basename(path)} ends ${length - done} bytes early (wanted ${length} at ${offset}); download it again`, path)
    }
    done += bytesRead
  }
  return data
}

/** Opens a weight file. @throws checkpoint_invalid if it is missing or not a regular file */
export async function openWeightFile(path: string): Promise<WeightFile> {
  let handle: FileHandle
  try {
    handle = await open(path, 'r')
  } catch (cause) {
    const isMissing = osCode(cause) === 'ENOENT'
    throw invalid(isMissing ? `${path} is missing; download it again` : `cannot open ${path}: ${messageOf(cause)}`, path)
  }
  const stat = await handle.stat()
  if (!stat.isFile()) {
    await handle.close()
    throw invalid(`${path} is not a regular file`, path)
  }
  return {
    path,
    size: stat.size,
    read: (offset, length) => readFully(handle, path, offset, length),
    close: () => handle.close(),
  }
}
