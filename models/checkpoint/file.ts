import { createHash, type Hash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import { constants, type Stats } from 'node:fs'
import { basename } from 'node:path'
import { at } from '../../base/at.ts'
import { messageOf, osCode } from '../../base/errors.ts'
import { invalid } from '../errors.ts'

/** Bytes per read of the operating system: well below its limit of 2 GiB. */
const READ_CHUNK = 1 << 26

interface Part {
  readonly offset: number
  readonly bytes: number
}

/** Bytes of each tensor's start and end that are hashed for the revision: fine-tuned copies differ only there. */
const SAMPLE_BYTES = 256

/** Adds the ends of all tensors to a revision. */
export async function hashEnds(hash: Hash, file: WeightFile, tensors: readonly Part[]): Promise<void> {
  const samples = tensors.flatMap(({ offset, bytes }) => {
    const sample = Math.min(SAMPLE_BYTES, bytes)
    return [
      { offset, bytes: sample },
      { offset: offset + bytes - sample, bytes: sample },
    ]
  })
  for (const sample of await file.readParts(samples)) hash.update(sample)
}

/** The revision (SHA-256, hex) of a checkpoint that is made of several parts. */
export function combinedRevision(...parts: readonly string[]): string {
  return createHash('sha256').update(parts.join(' ')).digest('hex')
}

async function readFully(handle: FileHandle, path: string, { offset, bytes }: Part): Promise<Uint8Array> {
  const data = new Uint8Array(bytes)
  let done = 0
  while (done < bytes) {
    const { bytesRead } = await handle.read(data, done, Math.min(READ_CHUNK, bytes - done), offset + done)
    if (bytesRead === 0)
      throw invalid(`${basename(path)} ends ${bytes - done} bytes early (wanted ${bytes} at ${offset}); download it again`, path)
    done += bytesRead
  }
  return data
}

async function withHandle<T>(path: string, use: (handle: FileHandle, stats: Stats) => Promise<T>): Promise<T> {
  // A pipe is opened at once, and refused.
  await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: unknown) => {
    const isMissing = osCode(cause) === 'ENOENT'
    throw invalid(isMissing ? `${path} is missing; download it again` : `cannot open ${path}: ${messageOf(cause)}`, path)
  })
  const stats = await handle.stat()
  if (!stats.isFile()) throw invalid(`${path} is not a regular file`, path)
  return await use(handle, stats)
}

/**
 * Opens a weight file. Each read opens and closes the file: there is nothing to release. It refuses one that was changed since.
 * @throws checkpoint_invalid if it is missing or not a regular file
 */
export async function openWeightFile(path: string) {
  const known = await withHandle(path, (_, stats) => Promise.resolve(stats))
  const readParts = (parts: readonly Part[]): Promise<readonly Uint8Array[]> =>
    withHandle(path, async (handle, stats) => {
      if (stats.ino !== known.ino || stats.size !== known.size || stats.mtimeMs !== known.mtimeMs)
        throw invalid(`${path} was changed while it was read; repeat the command when nothing writes to it`, path)
      const data: Uint8Array[] = []
      for (const part of parts) data.push(await readFully(handle, path, part))
      return data
    })
  /** Reads `bytes` from `offset` into a new buffer. @throws checkpoint_invalid if the file ends earlier or has changed */
  const read = async (offset: number, bytes: number): Promise<Uint8Array> => at(await readParts([{ offset, bytes }]), 0)
  return { path, size: known.size, read, readParts }
}
export type WeightFile = Awaited<ReturnType<typeof openWeightFile>>
