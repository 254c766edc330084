import { createHash } from 'node:crypto'
import { readdir, readFile, rm, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Type, type Static } from '#typebox'
import { Value } from '#typebox/value'
import { ageOf } from '../../../base/locks/clock.ts'
import { writeFileDurably } from '../../../base/durable.ts'
import { CodedError, osCode } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import { takeLock, type Lock } from '../../../base/locks/lock.ts'
import { makeFolder } from '../../../base/make-folder.ts'

/** Retention of stored responses, and their maximum number; the oldest are evicted first. */
const KEEP_RESPONSES_MS = 24 * 3_600_000
const MAX_RESPONSES = 10_000
/** Responses stored between two removals of expired ones. */
const EXPIRY_EVERY = 100

const StoredResponseSchema = Type.Object({
  /** Fingerprint of the request. */
  request: Type.String(),
  found: Type.Boolean({ description: 'False for an answer 404.' }),
  body: Type.Unknown(),
  at: Type.Number({ description: 'Milliseconds since 1970.' }),
})
export type StoredResponse = Static<typeof StoredResponseSchema>

export interface StoredResponsesOptions {
  readonly dir: string
  readonly keepMs?: number
  readonly most?: number
}

/** Exclusive claim of a key: until it is released, no other request with the key is processed. */
export interface Claim {
  /** The stored response of the key, if any. */
  readonly kept: StoredResponse | undefined
  /** Durable when it resolves. */
  keep(answer: Omit<StoredResponse, 'at'>): Promise<void>
  release(): Promise<void>
}

/**
 * Stored responses to requests with an idempotency key, one small file each: they survive a restart and are shared by all processes of an
 * index.
 */
export class StoredResponses {
  readonly #dir: string
  readonly #keepMs: number
  readonly #most: number
  #untilExpiry = 0

  constructor({ dir, keepMs = KEEP_RESPONSES_MS, most = MAX_RESPONSES }: StoredResponsesOptions) {
    this.#dir = dir
    this.#keepMs = keepMs
    this.#most = most
  }

  /** @throws conflict while any process handles another request with the key */
  async claim(key: string): Promise<Claim> {
    const name = createHash('sha256').update(key).digest('hex').slice(0, 40)
    await makeFolder(this.#dir)
    const lock = await takeLock(join(this.#dir, `${name}.lock`), 0)
    if (lock === undefined)
      throw new CodedError('conflict', 'A request with this idempotency key is in progress: wait for its response.', {
        field: 'idempotency-key',
        retryAfterS: 1,
      })
    return this.#held(join(this.#dir, `${name}.json`), lock)
  }

  async #held(path: string, lock: Lock): Promise<Claim> {
    try {
      const kept = await this.#read(path)
      return {
        kept,
        keep: async (answer) => {
          await writeFileDurably(path, JSON.stringify({ ...answer, at: Date.now() }))
          if (--this.#untilExpiry <= 0) await this.#removeExpired()
        },
        release: () => lock.release(),
      }
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  async #read(path: string): Promise<StoredResponse | undefined> {
    try {
      const value = parseJson(await readFile(path, 'utf8'))
      return Value.Check(StoredResponseSchema, value) && ageOf(value.at) < this.#keepMs ? value : undefined
    } catch (error) {
      if (osCode(error) === 'ENOENT') return undefined
      throw error
    }
  }

  /** Removes expired responses, and the oldest if there are too many. */
  async #removeExpired(): Promise<void> {
    this.#untilExpiry = EXPIRY_EVERY
    const files = await Promise.all((await readdir(this.#dir)).map(async (name) => ({ name, age: await fileAge(join(this.#dir, name)) })))
    const answers = files.filter(({ name }) => name.endsWith('.json')).sort((a, b) => a.age - b.age)
    const gone = answers.filter(({ age }, i) => age > this.#keepMs || i >= this.#most)
    for (const { name } of gone) await rm(join(this.#dir, name), { force: true })
    for (const { name, age } of files) {
      // Only unclaimed files are empty.
      if (name.endsWith('.lock') && age > this.#keepMs) await rmdir(join(this.#dir, name)).catch(() => undefined)
      else if (!name.endsWith('.json') && age > this.#keepMs) await rm(join(this.#dir, name), { force: true, recursive: true })
    }
  }
}

async function fileAge(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => ageOf(mtimeMs),
    () => 0,
  )
}
