import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readdir, rm, stat, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError, osCode } from '../errors.ts'
import { LockWaitReporter } from './lock-wait.ts'
import { processTag, stateOf } from './process.ts'

/** A holder of another machine or container is taken for dead after so long without a sign of life. */
const SILENT_MS = 60_000
const HEARTBEAT_MS = 5000
const REMOVE_AGAIN_MS = 1000
/**
 * How often someone who waits looks: at first this often, and later after a twentieth of the time that it has waited, since the folder may be
 * on another machine; and how often it also looks whether those before it are alive.
 */
const POLL_MS = 3
const MOST_POLL_MS = 50
const POLLED_SHARE = 1 / 20
const LIVENESS_MS = 50
/** How long choosing a number may take a process that lives: it is waited for by who tries once too, or of two at once both would give up. */
const CHOOSING_MS = 1000

export interface Lock {
  /** Aborted if the lock was lost: this process was silent for so long that others took it for dead. */
  readonly lost: AbortSignal
  release(): Promise<void>
}

/**
 * A lock between processes, by files in a folder (Lamport's bakery): an applicant puts up that it is choosing, takes a number
 * above all others, and gets the lock when no process is choosing and none has a lower number. Every file has a name of
 * its own that says whose it is, so that removing a dead process's file can never hit a living one's, and a killed holder
 * stops nobody. Processes of other machines and containers show that they live by touching their files.
 * @param waitMs 0 to try once.
 * @returns undefined if others hold it for longer than that.
 */
export async function takeLock(folder: string, waitMs: number, signal?: AbortSignal): Promise<Lock | undefined> {
  const applicant = await Applicant.enter(folder)
  try {
    if (await applicant.hasTurn(waitMs, signal)) return applicant.hold()
  } catch (error) {
    await applicant.leave()
    throw error
  }
  await applicant.leave()
  return undefined
}

/** Whether a living process holds a lock, or waits for it. It only looks: nobody is kept out meanwhile, as a try would do. */
export async function isLockHeld(folder: string): Promise<boolean> {
  const files = await readdir(folder).catch((error: unknown) => {
    if (osCode(error) !== 'ENOENT') throw error
    return []
  })
  const alive = await Promise.all(files.flatMap(entryOf).map((entry) => isAlive(folder, entry, () => timeOf(folder))))
  return alive.includes(true)
}

/** `<number>_<process tag>_<unique>.ticket`, and the same with number 0 and `.choosing` before it. */
const ENTRY = /^(\d{12})_([0-9a-f-]+)_([0-9a-f]{8})\.(ticket|choosing)$/

interface Entry {
  readonly file: string
  readonly number: number
  readonly tag: string
  readonly unique: string
  readonly choosing: boolean
}

function entryOf(file: string): Entry[] {
  const [, number, tag, unique, kind] = ENTRY.exec(file) ?? []
  if (number === undefined || tag === undefined || unique === undefined) return []
  return [{ file, number: Number(number), tag, unique, choosing: kind === 'choosing' }]
}

function fileOf(number: number, tag: string, unique: string, kind: 'ticket' | 'choosing'): string {
  return `${String(number).padStart(12, '0')}_${tag}_${unique}.${kind}`
}

/** @param now the file system's time, in milliseconds: the clocks of the machines may differ */
async function isAlive(folder: string, { file, tag }: Entry, now: () => Promise<number>): Promise<boolean> {
  const state = await stateOf(tag)
  if (state !== 'elsewhere') return state === 'alive'
  try {
    return (await now()) - (await stat(join(folder, file))).mtimeMs < SILENT_MS
  } catch (error) {
    if (osCode(error) === 'ENOENT') return false
    throw error
  }
}

/** The time of a folder's file system, in milliseconds. */
async function timeOf(folder: string): Promise<number> {
  const file = join(folder, `${randomUUID()}.time`)
  try {
    await writeFile(file, '', { flag: 'wx' })
    return (await stat(file)).mtimeMs
  } finally {
    await rm(file, { force: true })
  }
}

/** An applicant's place in the line. */
interface Ticket {
  readonly unique: string
  readonly number: number
  readonly path: string
  readonly file: FileHandle
}

class Applicant {
  readonly #folder: string
  readonly #unique: string
  readonly #number: number
  readonly #path: string
  readonly #file: FileHandle
  readonly #lost = new AbortController()
  readonly #beat: NodeJS.Timeout

  private constructor(folder: string, { unique, number, path, file }: Ticket) {
    this.#folder = folder
    this.#unique = unique
    this.#number = number
    this.#path = path
    this.#file = file
    this.#beat = setInterval(() => {
      this.#touch().catch(() => undefined)
    }, HEARTBEAT_MS).unref()
  }

  static async enter(folder: string): Promise<Applicant> {
    const tag = await processTag()
    const unique = randomUUID().slice(0, 8)
    const choosing = join(folder, fileOf(0, tag, unique, 'choosing'))
    await writeFile(choosing, '', { flag: 'wx' }).catch(async (error: unknown) => {
      if (osCode(error) !== 'ENOENT') throw error
      await mkdir(folder, { recursive: true })
      await writeFile(choosing, '', { flag: 'wx' })
    })
    try {
      const highest = (await readdir(folder)).flatMap(entryOf).reduce((most, { number }) => Math.max(most, number), 0)
      const path = join(folder, fileOf(highest + 1, tag, unique, 'ticket'))
      // A link, not a rename: who lists the folder meanwhile must meet at least one of the two.
      await link(choosing, path)
      return new Applicant(folder, { unique, number: highest + 1, path, file: await open(path, 'r+') })
    } finally {
      await rm(choosing, { force: true })
    }
  }

  async hasTurn(waitMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    const started = performance.now()
    const waiting = new LockWaitReporter(this.#folder)
    for (let looked = -Infinity; ;) {
      const ahead = (await readdir(this.#folder))
        .flatMap(entryOf)
        .filter((other) => this.#isAhead(other))
        .sort((a, b) => a.number - b.number)
      const [first] = ahead
      if (first === undefined) return true
      waiting.report(first.tag)
      if (performance.now() - looked >= LIVENESS_MS) {
        const alive = await Promise.all(ahead.map((other) => isAlive(this.#folder, other, () => this.#touch())))
        const dead = ahead.filter((_, i) => alive[i] !== true)
        await Promise.all(dead.map(({ file }) => rm(join(this.#folder, file), { force: true })))
        if (!alive.includes(true)) continue
        looked = performance.now()
      }
      signal?.throwIfAborted()
      const patienceMs = ahead.every(({ choosing }) => choosing) ? Math.max(waitMs, CHOOSING_MS) : waitMs
      const waited = performance.now() - started
      if (waited >= patienceMs) return false
      await sleep(Math.min(MOST_POLL_MS, Math.max(POLL_MS, waited * POLLED_SHARE)) * (1 + Math.random()))
    }
  }

  hold(): Lock {
    return { lost: this.#lost.signal, release: () => this.leave() }
  }

  async leave(): Promise<void> {
    clearInterval(this.#beat)
    try {
      await rm(this.#path, { force: true })
    } catch (error) {
      this.#removeLater()
      throw error
    } finally {
      await this.#file.close()
    }
  }

  /** The file of a process that lives keeps everyone out: where it could not be removed, since the folder was away, it goes when that is back. */
  #removeLater(): void {
    setTimeout(() => {
      rm(this.#path, { force: true }).catch(() => this.#removeLater())
    }, REMOVE_AGAIN_MS).unref()
  }

  #isAhead(other: Entry): boolean {
    if (other.unique === this.#unique) return false
    return other.choosing || other.number < this.#number || (other.number === this.#number && other.unique < this.#unique)
  }

  /** A sign of life. @returns the file system's time, in milliseconds. */
  async #touch(): Promise<number> {
    // Sets the time to the file system's now, and needs no space on a full disk: the file is empty.
    await this.#file.truncate(0)
    const { mtimeMs, nlink } = await this.#file.stat()
    if (nlink === 0) this.#lost.abort(new CodedError('conflict', 'The lock was lost: this process did not renew it in time.'))
    return mtimeMs
  }
}
