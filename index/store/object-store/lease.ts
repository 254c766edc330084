import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { CodedError } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import { LockWaitReporter } from '../../../base/locks/lock-wait.ts'
import { processTag, stateOf } from '../../../base/locks/process.ts'
import type { Lock } from '../../../base/locks/lock.ts'
import type { LockOptions } from '../store.ts'
import { putObject, readObject } from './objects.ts'

/**
 * A holder whose object did not change for so long, by the clock of who waits, is taken for dead: clocks of machines are never
 * compared. It may yet live, and wake: everything it does then is refused, since the object is another by then.
 */
export const LEASE_MS = 10_000
const RENEW_MS = 2500
/** How often someone who waits looks. */
const POLL_MS = 100

/**
 * A small object that one process at a time may hold, and that keeps a value of its own: both change by the same conditional
 * write, so that a value is only ever written by who holds the object at that moment.
 */
const LeasedSchema = Type.Object({
  value: Type.Unknown(),
  lease: Type.Union([Type.Null(), Type.Object({ token: Type.String(), process: Type.String(), beat: Type.Integer() })]),
  /** Of this one write: who lost its answer knows it by this. */
  nonce: Type.String(),
})
type Leased = Static<typeof LeasedSchema>
type State = Omit<Leased, 'nonce'>

interface Found extends Leased {
  readonly etag: string
}

/** The value of an object, whoever holds it; undefined where there is none. */
export async function readValue(address: string): Promise<unknown> {
  return (await read(address))?.value ?? undefined
}

async function read(address: string): Promise<Found | undefined> {
  const object = await readObject(address)
  if (object === undefined) return undefined
  const value = parseJson(object.text)
  if (Value.Check(LeasedSchema, value)) return { ...value, etag: object.etag }
  throw new CodedError('index_invalid', `${address} is damaged, or was written by newer software.`, { field: address })
}

/**
 * Puts a state in the place of the one that was read. An answer that was lost is made up for: the object tells whether the write was done.
 * @returns what is there now, if it is this; undefined where another write came first.
 */
async function swap(address: string, before: string | undefined, state: State): Promise<Found | undefined> {
  const next = { ...state, nonce: randomUUID() }
  let failed: CodedError | undefined
  try {
    const etag = await putObject(address, JSON.stringify(next), before === undefined ? { absent: true } : { etag: before })
    if (etag !== undefined) return { ...next, etag }
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    failed = error
  }
  const found = await read(address)
  if (found?.nonce === next.nonce) return found
  if (failed !== undefined) throw failed
  return undefined
}

/** What this process has taken and not given back, by address, but for what is advisory: also what it lost meanwhile, so that nothing more is written under it. */
const holding = new Map<string, Holder>()

/** When an unchanged object was first seen, by its address. */
const seen = new Map<string, { readonly nonce: string; readonly since: number }>()

/** @returns undefined if another process holds it for longer than that. */
export async function takeLease(
  address: string,
  { waitMs, signal, onTakeover = () => Promise.resolve(), advisory = false }: LockOptions,
): Promise<Lock | undefined> {
  const lease = { token: randomUUID(), process: await processTag(), beat: 0 }
  const started = performance.now()
  const waiting = new LockWaitReporter(address)
  for (;;) {
    const found = await read(address)
    const held = found?.lease ?? null
    if (found === undefined || held === null || (await isAbandoned(address, found))) {
      const taken = await swap(address, found?.etag, { value: found?.value ?? null, lease })
      if (taken !== undefined) {
        const holder = new Holder(address, lease.token, taken)
        if (!advisory) holding.set(address, holder)
        if (held !== null) await onTakeover().catch((error: unknown) => holder.abandon(error))
        return holder
      }
    }
    if (held !== null) waiting.report(held.process)
    signal?.throwIfAborted()
    if (performance.now() - started >= waitMs) return undefined
    await sleep(POLL_MS * (0.5 + Math.random()))
  }
}

async function isAbandoned(address: string, { nonce, lease }: Found): Promise<boolean> {
  if (lease !== null && (await stateOf(lease.process)) === 'dead') return true
  const known = seen.get(address)
  if (known?.nonce !== nonce) {
    seen.set(address, { nonce, since: performance.now() })
    return false
  }
  return performance.now() - known.since >= LEASE_MS
}

class Holder implements Lock {
  readonly #address: string
  readonly #token: string
  readonly #lost = new AbortController()
  readonly #timer: NodeJS.Timeout
  #now: Found
  /** Own writes go one after the other. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(address: string, token: string, now: Found) {
    this.#address = address
    this.#token = token
    this.#now = now
    this.#timer = setInterval(() => {
      // A store that does not answer gives the lease to nobody else; whether it is still held shows before every write.
      this.#change((state) => state).catch(() => undefined)
    }, RENEW_MS).unref()
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** @throws conflict where another process has it by now */
  write(value: unknown): Promise<void> {
    return this.#change((state) => ({ ...state, value }))
  }

  /** Looks at the object itself. @throws conflict where another process has it by now */
  async check(): Promise<void> {
    this.#lost.signal.throwIfAborted()
    const found = await read(this.#address)
    if (found?.lease?.token !== this.#token) throw this.#gone()
  }

  async release(): Promise<void> {
    this.#stop()
    // One that cannot be released expires.
    await this.#change((state) => ({ ...state, lease: null })).catch(() => undefined)
  }

  /** Leaves the lease to expire: given back, it would be taken without ending what the holder before this one has on its way. */
  abandon(error: unknown): never {
    this.#stop()
    throw error
  }

  #stop(): void {
    clearInterval(this.#timer)
    if (holding.get(this.#address) === this) holding.delete(this.#address)
  }

  #change(make: (state: State) => State): Promise<void> {
    const mine = this.#last.then(async () => {
      for (;;) {
        this.#lost.signal.throwIfAborted()
        const { value, lease } = this.#now
        if (lease === null) return
        const changed = await swap(this.#address, this.#now.etag, make({ value, lease: { ...lease, beat: lease.beat + 1 } }))
        if (changed !== undefined) {
          this.#now = changed
          return
        }
        const found = await read(this.#address)
        if (found?.lease?.token !== this.#token) throw this.#gone()
        this.#now = found
      }
    })
    this.#last = mine.catch(() => undefined)
    return mine
  }

  /** It stays among what is held until it is given back: who works under it must find that it is lost. */
  #gone(): CodedError {
    clearInterval(this.#timer)
    const gone = new CodedError(
      'conflict',
      'The writer lease was lost: this process did not renew it in time. Nothing more is written. Try again.',
      { retryAfterS: 5 },
    )
    this.#lost.abort(gone)
    return gone
  }
}

/**
 * Writes an object's value. Where this process holds the object it is refused unless it still does.
 * @throws conflict where another process has taken it over
 */
export async function writeValue(address: string, value: unknown): Promise<void> {
  const holder = holding.get(address)
  if (holder !== undefined) return holder.write(value)
  for (;;) {
    const found = await read(address)
    if (found?.lease) throw new CodedError('conflict', 'Another process is writing to the index. Try again.', { retryAfterS: 5 })
    if ((await swap(address, found?.etag, { value, lease: null })) !== undefined) return
  }
}

/** Looks whether this process still holds all that it holds of an index. @throws conflict */
export async function checkLeases(dir: string): Promise<void> {
  const own = [...holding].filter(([address]) => address.startsWith(`${dir}/`))
  await Promise.all(own.map(([, holder]) => holder.check()))
}
