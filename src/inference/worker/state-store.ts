import { randomUUID } from 'node:crypto'
import { mkdir, open, rename, rm, statfs, writeFile, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import pLimit from 'p-limit'
import { CodedError, isDiskFull, messageOf, osCode } from '../../../base/errors.ts'
import { sweep } from '../../../base/left-overs.ts'
import { processTag } from '../../../base/process.ts'
import { modelId, type CepeManifest } from '../../../models/manifest.ts'
import type { Log } from '../log.ts'
import type { StateDtype } from '../protocol.ts'
import type { ContextStates } from './state-cache.ts'
import { decodeStateFile, encodeStateFile } from './state-file.ts'
import { STATE_FILE, trimStates } from './state-trim.ts'

/** Encoder states on the disk, one file a context, for every process of a reader. */
export interface StateStore {
  /** undefined for what is not there, or is damaged. */
  read(key: string): Promise<ContextStates | undefined>
  has(key: string): Promise<boolean>
  /** Writes states whole or not at all. @returns its bytes; 0 for no states, and for numbers beyond the dtype's range, which are not stored. @throws disk_full, and the system's errors */
  write(key: string, states: ContextStates): Promise<number>
  /** Bytes that may still be written: of the limit, or of the disk where that has less. */
  room(): Promise<number>
  /** Writes in the background what fits into the backlog; a disk that takes nothing is only warned of. */
  keep(key: string, states: ContextStates): void
  /** When all that was to be kept is written, or given up. */
  settled(): Promise<void>
}

export interface StateStoreOptions {
  /** Folder of all readers' states. */
  readonly dir: string
  /** The reader whose states these are: the folder's name tells its weights, precision and tokenizer. */
  readonly manifest: CepeManifest
  readonly dtype: StateDtype
  /** Of all files in `dir`; past it those that were not used for longest go. */
  readonly maxBytes: number
  readonly log: Log
}

const ASIDE = 'aside'
const WRITERS = 2
const READERS = 8
/** Bytes that wait to be written in the background. */
const BACKLOG_BYTES = 64 * 2 ** 20
/** A file that is read counts as used anew, noted once in so long. */
const TOUCH_MS = 3_600_000
/** The folder is looked through whenever this share of its limit has been written: other processes write too. */
const LOOK_SHARE = 0.05
/** After a failure nothing is written for so long. */
const PAUSE_MS = 60_000

/** Folder of one reader's states: others' are never looked at. */
export function stateFolder(manifest: CepeManifest, dtype: StateDtype): string {
  return `${modelId(manifest).replaceAll(/[^\w.@+-]/g, '_')}-${dtype}`
}

/** Opens the states of one reader, and removes what killed processes left half written. */
export async function createStateStore({ dir, manifest, dtype, maxBytes, log }: StateStoreOptions): Promise<StateStore> {
  const folder = path.join(dir, stateFolder(manifest, dtype))
  const aside = path.join(dir, ASIDE)
  const width = manifest.dims.encoder_hidden_size
  const tag = await processTag()
  await mkdir(aside, { recursive: true })
  await sweep(aside, (name) => name.split('.', 1)[0])
  const writers = pLimit(WRITERS)
  const readers = pLimit(READERS)
  const waiting = new Set<Promise<void>>()
  let backlog = 0
  let pausedUntil = 0
  /** Bytes in the folder when it was looked through, and written since. */
  let [seen, unseen] = [await trimStates(dir, maxBytes), 0]

  const isPaused = (): boolean => Date.now() < pausedUntil

  const fileOf = (key: string): string => {
    const name = Buffer.from(key, 'base64').toString('hex')
    return path.join(folder, name.slice(0, 2), name + STATE_FILE)
  }

  const write = async (key: string, states: ContextStates): Promise<number> => {
    if (states.length === 0 || (dtype === 'f16') !== states instanceof Uint16Array) return 0
    const bytes = encodeStateFile(states, width)
    const written = path.join(aside, `${tag}.${randomUUID()}`)
    const file = fileOf(key)
    try {
      // Not forced onto the disk, file by file: what a lost power leaves of one does not match its checksum, and is computed again.
      await writeFile(written, bytes, { flag: 'wx' })
      await mkdir(path.dirname(file), { recursive: true })
      await rename(written, file)
    } catch (error) {
      await rm(written, { force: true }).catch(() => undefined)
      if (!isDiskFull(error)) throw error
      throw new CodedError('disk_full', `The disk is full: no encoder states can be written to ${folder}.`, { field: folder, cause: error })
    }
    unseen += bytes.byteLength
    if (unseen > maxBytes * LOOK_SHARE || seen + unseen > maxBytes) {
      unseen = 0
      seen = await trimStates(dir, maxBytes)
    }
    return bytes.byteLength
  }

  const give = async (key: string, states: ContextStates): Promise<void> => {
    if (isPaused()) return
    try {
      await write(key, states)
    } catch (error) {
      if (isPaused()) return
      pausedUntil = Date.now() + PAUSE_MS
      log('warn', `Encoder states are not kept on the disk for a minute: ${messageOf(error)}`)
    }
  }

  return {
    read: (key) =>
      readers(() => readStates(fileOf(key), width, dtype)).catch((error: unknown) => {
        log('warn', `Encoder states cannot be read, and are computed again: ${messageOf(error)}`)
        return undefined
      }),
    has: (key) => readers(() => exists(fileOf(key))),
    write,
    room: async () => {
      const { bavail, bsize } = await statfs(dir)
      return Math.max(0, Math.min(maxBytes - seen - unseen, bavail * bsize))
    },
    keep: (key, states) => {
      if (isPaused() || backlog + states.byteLength > BACKLOG_BYTES) return
      backlog += states.byteLength
      const done = writers(() => give(key, states)).finally(() => {
        backlog -= states.byteLength
        waiting.delete(done)
      })
      waiting.add(done)
    },
    settled: async () => {
      while (waiting.size > 0) await Promise.all(waiting)
    },
  }
}

async function opened(file: string): Promise<FileHandle | undefined> {
  return open(file, 'r').catch((error: unknown) => {
    if (osCode(error) === 'ENOENT') return undefined
    throw error
  })
}

async function exists(file: string): Promise<boolean> {
  const handle = await opened(file)
  await handle?.close()
  return handle !== undefined
}

/** A file that is no such file is removed, so that its states are stored anew. */
async function readStates(file: string, width: number, dtype: StateDtype): Promise<ContextStates | undefined> {
  const handle = await opened(file)
  if (!handle) return undefined
  try {
    const states = decodeStateFile(await handle.readFile(), width, dtype)
    if (!states) await rm(file, { force: true })
    else if (Date.now() - (await handle.stat()).mtimeMs > TOUCH_MS) {
      const now = new Date()
      // Of another user's files one may read: then they only count as older.
      await handle.utimes(now, now).catch(() => undefined)
    }
    return states
  } finally {
    await handle.close()
  }
}
