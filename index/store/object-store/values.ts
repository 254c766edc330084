import { Type } from '#typebox'
import { Value } from '#typebox/value'
import { isDeepStrictEqual } from 'node:util'
import { ageOf } from '../../../base/locks/clock.ts'
import type { Values } from '../store.ts'
import { readValue, writeValue } from './lease.ts'

/** Stored form: renewing a lease changes the object too, so the value contains the time of its last change. */
const StampedSchema = Type.Intersect([Type.Record(Type.String(), Type.Unknown()), Type.Object({ since: Type.String() })])

async function readStamped(address: string): Promise<{ readonly value: unknown; readonly since?: string }> {
  const stored = await readValue(address)
  if (!Value.Check(StampedSchema, stored)) return { value: stored }
  const { since, ...value } = stored
  return { value, since }
}

async function read(address: string): Promise<unknown> {
  return (await readStamped(address)).value
}

async function write(address: string, value: Readonly<Record<string, unknown>>): Promise<void> {
  const before = await readStamped(address)
  const since = isDeepStrictEqual(before.value, value) ? before.since : undefined
  await writeValue(address, { ...value, since: since ?? new Date().toISOString() })
}

/** Each value is an object, changed by conditional writes, that also holds the lease of its lock. */
export const objectValues: Values = {
  read,
  write,

  // Under the value's lock, so that no other process creates one in between.
  async create(address, value) {
    if ((await read(address)) !== undefined) return false
    await write(address, value)
    return true
  },

  remove: (address) => writeValue(address, null),

  async age(address) {
    const { since } = await readStamped(address)
    return since === undefined ? Infinity : ageOf(Date.parse(since))
  },

  async stamp(address) {
    const value = await read(address)
    return value === undefined ? 'none' : JSON.stringify(value)
  },
}
