import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { CodedError, invalidIndex } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import { lockWaitReporter } from '../../../base/locks/lock-wait.ts'
import { processTag, stateOf } from '../../../base/process-tag.ts'
import type { Lock } from '../../../base/locks/lock.ts'
import type { LockOptions } from '../store.ts'
import { putObject, readObject } from './objects.ts'

/**
 * A holder whose object did not change for this long, by the waiter's clock, is considered dead; clocks of machines are never compared. If
 * it wakes up later, its writes are rejected, because the object has changed.
 */
const LEASE_MS = 10_000
const RENEW_MS = 2500
const POLL_MS = 100

/** A small object with a value that one process at a time may hold. Both change by one conditional write: only the holder can write it. */
const LeasedSchema = Type.Object({
  value: Type.Unknown(),
  lease: Type.Union([Type.Null(), Type.Object({ token: Type.String(), process: Type.String(), beat: Type.Integer() })]),
  /** Identifies this write, to resolve a lost response. */
  nonce: Type.String(),
})
type Leased = Static<typeof LeasedSchema>
type State = Omit<Leased, 'nonce'>

interface Found extends Leased {
  readonly etag: string
}

/** Reads the value of an object, regardless of its holder; undefined if there is none, null for a damaged object. */
export async function readValue(address: string): Promise<unknown> {
  const found = await readLeased(address)
  return found && (found.value ?? undefined)
}

/** @returns null for a damaged object */
async function readLeased(address: string): Promise<Found | null | undefined> {
  const object = await readObject(address)
  if (object === undefined) return undefined
  const { text, etag } = object
  const value = parseJson(text)
  if (Value.Check(LeasedSchema, value)) return { ...value, etag }
  // Without a lease it is a value that was restored by hand.
  return typeof value === 'object' && value !== null && !('lease' in value) ? { value, lease: null, nonce: '', etag } : null
}

async function read(address: string): Promise<Found | undefined> {
  const found = await readLeased(address)
  if (found !== null) return found
  const remedy = 'an alias should be {"stored_as": "<a folder next to it, without .lance>"}; a lock can be removed while nothing writes.'
  throw invalidIndex(address, `${address} is damaged, or was written by newer software: ${remedy}`)
}

/** Replaces a state by compare-and-swap, and looks after a lost response. @returns the new state; undefined if another write came first */
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

/** Leases that this process took and has not released, by address, except advisory ones. Lost ones stay: nothing is written under them. */
const holding = new Map<string, ReturnType<typeof holderOf>>()

/** Time at which an unchanged object was first seen, by address. */
const seen = new Map<string, { readonly nonce: string; readonly since: number }>()

/** @returns undefined if another process holds it for longer than the wait */
export async function takeLease(
  address: string,
  { waitMs, signal, onTakeover = () => Promise.resolve(), advisory = false }: LockOptions,
): Promise<Lock | undefined> {
  const lease = { token: randomUUID(), process: await processTag(), beat: 0 }
  const started = performance.now()
  const reportWait = lockWaitReporter(address)
  for (;;) {
    const found = await read(address)
    const held = found?.lease ?? null
    if (found === undefined || held === null || (await isAbandoned(address, found))) {
      const taken = await swap(address, found?.etag, { value: found?.value ?? null, lease })
      if (taken !== undefined) {
        const holder = holderOf(address, lease.token, taken)
        if (!advisory) holding.set(address, holder)
        if (held !== null) await onTakeover().catch((error: unknown) => holder.abandon(error))
        return holder
      }
    }
    if (held !== null) reportWait(held.process)
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

function holderOf(address: string, token: string, taken: Found) {
  const lost = new AbortController()
  let now = taken
  /** Serialises own writes. */
  let last: Promise<unknown> = Promise.resolve()

  /** Stays registered until released, so that code working under it detects the loss. */
  const gone = (): CodedError => {
    clearInterval(timer)
    const error = new CodedError(
      'conflict',
      'The writer lease was lost: this process did not renew it in time. Nothing more is written. Try again.',
      { retryAfterS: 5 },
    )
    lost.abort(error)
    return error
  }

  /** Reads the object. @throws conflict if another process has taken the lease */
  const readOwn = async (): Promise<Found> => {
    lost.signal.throwIfAborted()
    const found = await read(address)
    if (found?.lease?.token !== token) throw gone()
    return found
  }

  const change = (make: (state: State) => State): Promise<void> => {
    const mine = last.then(async () => {
      for (;;) {
        lost.signal.throwIfAborted()
        const { value, lease } = now
        if (lease === null) return
        const changed = await swap(address, now.etag, make({ value, lease: { ...lease, beat: lease.beat + 1 } }))
        now = changed ?? (await readOwn())
        if (changed !== undefined) return
      }
    })
    last = mine.catch(() => undefined)
    return mine
  }

  const timer = setInterval(() => {
    // An unavailable store cannot give the lease to another process; the lease is checked before every write anyway.
    change((state) => state).catch(() => undefined)
  }, RENEW_MS).unref()

  const stop = (): void => {
    clearInterval(timer)
    if (holding.get(address) === holder) holding.delete(address)
  }

  const holder = {
    lost: lost.signal,
    /** @throws conflict if another process has taken the lease */
    write: (value: unknown): Promise<void> => change((state) => ({ ...state, value })),
    /** Reads the object and verifies the holder. @throws conflict if another process has taken the lease */
    check: async (): Promise<void> => {
      await readOwn()
    },
    release: async (): Promise<void> => {
      stop()
      // If it cannot be released, it expires.
      await change((state) => ({ ...state, lease: null })).catch(() => undefined)
    },
    /** Leaves the lease to expire. If it were released, the next holder would not fence off pending writes of the holder before this one. */
    abandon: (error: unknown): never => {
      stop()
      throw error
    },
  }
  return holder
}

/** Writes an object's value; a lease that this process took must still be held. @throws conflict if another process has taken the lease */
export async function writeValue(address: string, value: unknown): Promise<void> {
  const holder = holding.get(address)
  if (holder !== undefined) return holder.write(value)
  for (;;) {
    const found = await read(address)
    if (found?.lease) throw new CodedError('conflict', 'Another process is writing to the index. Try again.', { retryAfterS: 5 })
    if ((await swap(address, found?.etag, { value, lease: null })) !== undefined) return
  }
}

/** Checks that this process still holds all its leases of an index. @throws conflict */
export async function checkLeases(dir: string): Promise<void> {
  const own = [...holding].filter(([address]) => address.startsWith(`${dir}/`))
  await Promise.all(own.map(([, holder]) => holder.check()))
}
