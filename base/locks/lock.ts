import { randomUUID } from 'node:crypto'
import { link, open, readdir, rm, stat, writeFile, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { forwardJump } from '../clock.ts'
import { CodedError, osCode } from '../errors.ts'
import { orAbsent } from '../exists.ts'
import { lockWaitReporter } from './lock-wait.ts'
import { processTag, stateOf } from '../process-tag.ts'
import { makeFolder } from '../durable.ts'

/** A holder on another machine or in another container is considered dead after this time without a heartbeat. */
const SILENT_MS = 60_000
const HEARTBEAT_MS = 5000
const REMOVE_AGAIN_MS = 1000
/**
 * Initial polling interval of a waiter; later a twentieth of the time waited, since the folder may be on another machine. Also how often it
 * checks whether those before it are alive.
 */
const POLL_MS = 3
const MOST_POLL_MS = 50
const POLLED_SHARE = 1 / 20
const LIVENESS_MS = 50
/** Longest time that a live process needs to choose a number. A try without waiting waits for it: else two tries would both give up. */
const CHOOSING_MS = 1000

export interface Lock {
  /** Aborted if the lock was lost: this process sent no heartbeat for so long that others considered it dead. */
  readonly lost: AbortSignal
  release(): Promise<void>
}

/**
 * A lock between processes by files in a folder (Lamport's bakery algorithm): an applicant announces that it is choosing, takes a number
 * above all others, and gets the lock when no process is choosing and none has a lower number. Every file has a unique name with its owner,
 * so that removing a dead process's file never affects a live one, and a killed holder blocks no one. Processes of other machines and
 * containers send heartbeats by touching their files.
 * @param waitMs 0 to try once
 * @returns undefined if others hold the lock for longer
 */
export async function takeLock(folder: string, waitMs: number, signal?: AbortSignal): Promise<Lock | undefined> {
  const applicant = await enter(folder)
  let isTaken = false
  try {
    isTaken = await applicant.hasTurn(waitMs, signal)
  } finally {
    if (!isTaken) await applicant.release()
  }
  return isTaken ? applicant : undefined
}

/** Runs work while a lock is held. @returns undefined if the lock was not free */
export async function whileHeld<Result>(
  taken: Promise<Lock | undefined>,
  work: (lock: Lock) => Promise<Result>,
): Promise<Result | undefined> {
  const lock = await taken
  if (lock === undefined) return undefined
  try {
    return await work(lock)
  } finally {
    await lock.release()
  }
}

/** Whether a live process holds a lock or waits for it. Read-only: unlike an attempt to lock, it blocks no other process. */
export async function isLockHeld(folder: string): Promise<boolean> {
  const files = (await orAbsent(readdir(folder))) ?? []
  const alive = await Promise.all(files.flatMap(lockFileOf).map((lockFile) => isAlive(folder, lockFile, () => timeOf(folder))))
  return alive.includes(true)
}

/** `<number>_<process tag>_<unique>.ticket`, and the same with number 0 and `.choosing` before it. */
const LOCK_FILE = /^(\d{12})_([0-9a-f-]+)_([0-9a-f]{8})\.(ticket|choosing)$/

type LockFile = ReturnType<typeof lockFileOf>[number]

/** @returns none for other files of the folder */
function lockFileOf(file: string) {
  const [, number, tag, unique, kind] = LOCK_FILE.exec(file) ?? []
  if (number === undefined || tag === undefined || unique === undefined) return []
  return [{ file, number: Number(number), tag, unique, choosing: kind === 'choosing' }]
}

function fileOf(number: number, tag: string, unique: string, kind: 'ticket' | 'choosing'): string {
  return `${String(number).padStart(12, '0')}_${tag}_${unique}.${kind}`
}

/** @param now the file system's time, in milliseconds: clocks of machines may differ */
async function isAlive(folder: string, { file, tag }: LockFile, now: () => Promise<number>): Promise<boolean> {
  const state = await stateOf(tag)
  if (state !== 'elsewhere') return state === 'alive'
  const isFresh = async (): Promise<boolean> => (await now()) - forwardJump() - (await stat(join(folder, file))).mtimeMs < SILENT_MS
  return (await orAbsent(isFresh())) ?? false
}

/** Current time of a folder's file system, in milliseconds. */
async function timeOf(folder: string): Promise<number> {
  const file = join(folder, `${randomUUID()}.time`)
  try {
    await writeFile(file, '', { flag: 'wx' })
    return (await stat(file)).mtimeMs
  } finally {
    await rm(file, { force: true })
  }
}

async function enter(folder: string) {
  const tag = await processTag()
  const unique = randomUUID().slice(0, 8)
  const choosing = join(folder, fileOf(0, tag, unique, 'choosing'))
  await writeFile(choosing, '', { flag: 'wx' }).catch(async (error: unknown) => {
    if (osCode(error) !== 'ENOENT') throw error
    await makeFolder(folder)
    await writeFile(choosing, '', { flag: 'wx' })
  })
  try {
    const highest = (await readdir(folder)).flatMap(lockFileOf).reduce((most, { number }) => Math.max(most, number), 0)
    const path = join(folder, fileOf(highest + 1, tag, unique, 'ticket'))
    // A link, not a rename: a concurrent listing must contain at least one of both.
    await link(choosing, path)
    return applicantOf(path, { unique, number: highest + 1 }, await open(path, 'r+'))
  } finally {
    await rm(choosing, { force: true })
  }
}

type Place = Pick<LockFile, 'unique' | 'number'>

function isAhead(other: LockFile, { unique, number }: Place): boolean {
  if (other.unique === unique) return false
  return other.choosing || other.number < number || (other.number === number && other.unique < unique)
}

/** @param path of its ticket, which is open as `file` */
function applicantOf(path: string, place: Place, file: FileHandle) {
  const folder = dirname(path)
  const lost = new AbortController()

  /** Sends a heartbeat. @returns the file system's time, in milliseconds */
  const touch = async (): Promise<number> => {
    // Sets the file system's current time, and needs no space on a full disk: the file is empty.
    await file.truncate(0)
    const { mtimeMs, nlink } = await file.stat()
    if (nlink === 0) lost.abort(new CodedError('conflict', 'The lock was lost: this process did not renew it in time.'))
    return mtimeMs
  }

  const beat = setInterval(() => {
    touch().catch(() => undefined)
  }, HEARTBEAT_MS).unref()

  /** Retries the removal of a live process's file, which blocks others if the folder was unavailable. */
  const removeLater = (): void => {
    setTimeout(() => {
      rm(path, { force: true }).catch(removeLater)
    }, REMOVE_AGAIN_MS).unref()
  }

  return {
    lost: lost.signal,

    hasTurn: async (waitMs: number, signal: AbortSignal | undefined): Promise<boolean> => {
      const started = performance.now()
      const reportWait = lockWaitReporter(folder)
      for (let looked = -Infinity; ;) {
        const ahead = (await readdir(folder))
          .flatMap(lockFileOf)
          .filter((other) => isAhead(other, place))
          .sort((a, b) => a.number - b.number)
        const [first] = ahead
        if (first === undefined) return true
        reportWait(first.tag)
        if (performance.now() - looked >= LIVENESS_MS) {
          const alive = await Promise.all(ahead.map((other) => isAlive(folder, other, touch)))
          const dead = ahead.filter((_, i) => alive[i] !== true)
          await Promise.all(dead.map((other) => rm(join(folder, other.file), { force: true })))
          if (!alive.includes(true)) continue
          looked = performance.now()
        }
        signal?.throwIfAborted()
        const patienceMs = ahead.every(({ choosing }) => choosing) ? Math.max(waitMs, CHOOSING_MS) : waitMs
        const waited = performance.now() - started
        if (waited >= patienceMs) return false
        await sleep(Math.min(MOST_POLL_MS, Math.max(POLL_MS, waited * POLLED_SHARE)) * (1 + Math.random()))
      }
    },

    release: async (): Promise<void> => {
      clearInterval(beat)
      try {
        await rm(path, { force: true })
      } catch (error) {
        removeLater()
        throw error
      } finally {
        await file.close()
      }
    },
  }
}
