import path from 'node:path'
import pLimit from 'p-limit'
import { randomUUID } from 'node:crypto'
import { lstat, open, readdir, rename, rm, statfs, writeFile } from 'node:fs/promises'
import { diskFull, messageOf } from '../../../../base/errors.ts'
import { exists, orAbsent } from '../../../../base/exists.ts'
import { isDiskFull } from '../../../../base/failures.ts'
import { processTag, removeStaleFiles } from '../../../../base/process-tag.ts'
import { type CepeManifest, modelId } from '../../../../models/manifest.ts'
import type { Log } from '../../log.ts'
import type { StateDtype } from '../../protocol.ts'
import type { ContextStates } from './state-cache.ts'
import { makeFolder } from '../../../../base/durable.ts'
import { crc32 } from 'node:zlib'

const STATE_FILE = '.states'
/** Files in the folder of a reader, by the SHA-256 of what the states depend on. Nothing else is ever removed. */
const NAME = /^[^/\\]+[/\\][0-9a-f]{2}[/\\][0-9a-f]{64}\.states$/
/** Target share of the limit after an eviction, so that the next write needs none. */
const KEPT_SHARE = 0.9

/** Evicts the least recently used state files of all readers above the limit; safe in several processes. @returns remaining bytes */
async function trimStates(dir: string, maxBytes: number): Promise<number> {
  const files = await statesIn(dir)
  let bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  if (bytes <= maxBytes) return bytes
  files.sort((a, b) => a.usedAt - b.usedAt)
  for (const file of files) {
    if (bytes <= maxBytes * KEPT_SHARE) break
    await rm(file.path, { force: true })
    bytes -= file.bytes
  }
  return bytes
}

async function statesIn(dir: string) {
  const names = ((await orAbsent(readdir(dir, { recursive: true }))) ?? []).filter((name) => NAME.test(name))
  const found = await Promise.all(
    names.map(async (name) => {
      const file = path.join(dir, name)
      const stats = await orAbsent(lstat(file))
      return stats && { path: file, bytes: stats.size, usedAt: stats.mtimeMs }
    }),
  )
  return found.filter((file) => file !== undefined)
}

/** "CEPS": encoder states, version 1. */
const MAGIC = 0x53504543
/** Magic, numbers per row, rows, CRC-32 of the rest: four 32-bit words. */
const HEADER_BYTES = 16

/** Encodes a file of one context's states: a header, then rows of little-endian numbers of the store's type. */
function encodeStateFile(states: ContextStates, width: number): Buffer {
  const data = new Uint8Array(states.buffer, states.byteOffset, states.byteLength)
  const header = Uint32Array.of(MAGIC, width, states.length / width, crc32(data))
  return Buffer.concat([new Uint8Array(header.buffer), data])
}

/** @returns undefined for a file that is truncated, damaged, or of another width */
function decodeStateFile(file: Uint8Array, width: number, dtype: StateDtype): ContextStates | undefined {
  if (file.byteLength < HEADER_BYTES) return undefined
  // Copies if the data is not aligned for a typed array.
  const aligned = file.byteOffset % 4 === 0 ? file : file.slice()
  const [magic, columns, rows, sum] = new Uint32Array(aligned.buffer, aligned.byteOffset, 4)
  const data = aligned.subarray(HEADER_BYTES)
  const bytes = dtype === 'f16' ? 2 : 4
  if (magic !== MAGIC || columns !== width || rows === undefined || data.byteLength !== rows * width * bytes) return undefined
  if (crc32(data) !== sum) return undefined
  return dtype === 'f16'
    ? new Uint16Array(data.buffer, data.byteOffset, rows * width)
    : new Float32Array(data.buffer, data.byteOffset, rows * width)
}

/** Encoder states on disk, one file per context, shared by the processes of a reader. */
interface StateStoreOptions {
  /** Folder of all readers' states. */
  readonly dir: string
  /** The reader of the states: the folder's name identifies weights, precision and tokenizer. */
  readonly manifest: CepeManifest
  readonly dtype: StateDtype
  /** Limit of all files in `dir`; above it the least recently used are evicted. */
  readonly maxBytes: number
  readonly log: Log
}

const ASIDE = 'aside'
const WRITERS = 2
const READERS = 8
/** Limit of bytes waiting to be written. */
const BACKLOG_BYTES = 64 * 2 ** 20
/** Reads update a file's access time at most once per interval. */
const TOUCH_MS = 3_600_000
/** The folder's size is measured again whenever this share of its limit has been written: other processes write too. */
const LOOK_SHARE = 0.05
const PAUSE_MS = 60_000

/** Opens the states of one reader, and removes partial files of killed processes. */
export async function createStateStore(options: StateStoreOptions): Promise<StateStore> {
  const { dir, maxBytes } = options
  const aside = path.join(dir, ASIDE)
  await makeFolder(aside)
  await removeStaleFiles(aside, (name) => name.split('.', 1)[0])
  return new StateStore(options, path.join(aside, await processTag()), await trimStates(dir, maxBytes))
}

export class StateStore {
  readonly #options: StateStoreOptions
  /** Path of files being written, without their own ending. */
  readonly #aside: string
  readonly #folder: string
  readonly #width: number
  readonly #writers = pLimit(WRITERS)
  readonly #readers = pLimit(READERS)
  readonly #waiting = new Set<Promise<void>>()
  #backlog = 0
  #pausedUntil = 0
  /** Bytes in the folder when it was last measured. */
  #seen: number
  /** Bytes written since. */
  #unseen = 0

  constructor(options: StateStoreOptions, aside: string, seen: number) {
    this.#options = options
    this.#aside = aside
    this.#seen = seen
    const { dir, manifest, dtype } = options
    this.#folder = path.join(dir, `${modelId(manifest).replaceAll(/[^\w.@+-]/g, '_')}-${dtype}`)
    this.#width = manifest.dims.encoder_hidden_size
  }

  /** undefined if missing or damaged. */
  read(key: string): Promise<ContextStates | undefined> {
    const { dtype, log } = this.#options
    return this.#readers(() => readStates(this.#fileOf(key), this.#width, dtype)).catch((error: unknown) => {
      log('warn', `Encoder states cannot be read, and are computed again: ${messageOf(error)}`)
      return undefined
    })
  }

  has(key: string): Promise<boolean> {
    return this.#readers(() => exists(this.#fileOf(key)))
  }

  /** Writes states atomically. @returns bytes; 0 for empty states and numbers beyond the type's range, not stored. @throws disk_full */
  async write(key: string, states: ContextStates): Promise<number> {
    if (states.length === 0 || (this.#options.dtype === 'f16') !== states instanceof Uint16Array) return 0
    const bytes = encodeStateFile(states, this.#width)
    const written = `${this.#aside}.${randomUUID()}`
    const file = this.#fileOf(key)
    try {
      // Not fsynced: a torn file fails its checksum and is computed again.
      await writeFile(written, bytes, { flag: 'wx' })
      await makeFolder(path.dirname(file))
      await rename(written, file)
    } catch (error) {
      await rm(written, { force: true }).catch(() => undefined)
      if (!isDiskFull(error)) throw error
      throw diskFull(this.#folder, `The disk is full: no encoder states can be written to ${this.#folder}.`, error)
    }
    await this.#wrote(bytes.byteLength)
    return bytes.byteLength
  }

  /** Free bytes: of the limit, or of the disk if less. */
  async room(): Promise<number> {
    const { dir, maxBytes } = this.#options
    const { bavail, bsize } = await statfs(dir)
    return Math.max(0, Math.min(maxBytes - this.#seen - this.#unseen, bavail * bsize))
  }

  /** Writes in the background if the backlog has room; failures only cause a warning. */
  keep(key: string, states: ContextStates): void {
    if (this.#isPaused() || this.#backlog + states.byteLength > BACKLOG_BYTES) return
    this.#backlog += states.byteLength
    const done = this.#writers(() => this.#writeOrPause(key, states)).finally(() => {
      this.#backlog -= states.byteLength
      this.#waiting.delete(done)
    })
    this.#waiting.add(done)
  }

  /** Resolves when the backlog is written or dropped. */
  async settled(): Promise<void> {
    while (this.#waiting.size > 0) await Promise.all(this.#waiting)
  }

  #isPaused(): boolean {
    return performance.now() < this.#pausedUntil
  }

  #fileOf(key: string): string {
    const name = Buffer.from(key, 'base64').toString('hex')
    return path.join(this.#folder, name.slice(0, 2), name + STATE_FILE)
  }

  async #wrote(bytes: number): Promise<void> {
    const { dir, maxBytes } = this.#options
    this.#unseen += bytes
    if (this.#unseen <= maxBytes * LOOK_SHARE && this.#seen + this.#unseen <= maxBytes) return
    this.#unseen = 0
    this.#seen = await trimStates(dir, maxBytes)
  }

  async #writeOrPause(key: string, states: ContextStates): Promise<void> {
    if (this.#isPaused()) return
    try {
      await this.write(key, states)
    } catch (error) {
      if (this.#isPaused()) return
      this.#pausedUntil = performance.now() + PAUSE_MS
      this.#options.log('warn', `Encoder states are not kept on the disk for a minute: ${messageOf(error)}`)
    }
  }
}

/** Reads a file; removes a damaged one, so that it is stored again. */
async function readStates(file: string, width: number, dtype: StateDtype): Promise<ContextStates | undefined> {
  await using handle = await orAbsent(open(file, 'r'))
  if (!handle) return undefined
  const states = decodeStateFile(await handle.readFile(), width, dtype)
  if (!states) await rm(file, { force: true })
  else if (Math.abs(Date.now() - (await handle.stat()).mtimeMs) > TOUCH_MS) {
    const now = new Date()
    // Without permission to touch another user's file, it is only evicted earlier.
    await handle.utimes(now, now).catch(() => undefined)
  }
  return states
}
