import { timingSafeEqual } from 'node:crypto'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../inference/log.ts'
import { hashKey, type KeyRecord } from './record.ts'
import { keyFiles, readKeys } from './store.ts'

const DEFAULT_POLL_MS = 1_000

/** Who a key belongs to, and what it may do. */
export type Holder = Pick<KeyRecord, 'name' | 'role' | 'requests_per_minute' | 'questions_per_day'>

/** The keys of a running service. */
export interface Keys {
  /** Whether questions need a key: there are user keys, or were since the start. */
  readonly required: boolean
  /** Whether there is an admin key that is good. */
  readonly hasAdmin: boolean
  /** The holder of a key; undefined for one that is unknown or revoked. */
  find(key: string): Holder | undefined
  /** The holder of that name. */
  named(name: string): Holder | undefined
  close(): void
}

export interface KeysOptions {
  readonly dir: string
  readonly pollMs?: number
  readonly log?: Log
}

/**
 * Reads the keys of a folder, and follows its changes without a restart: what is added or revoked counts within a second.
 * Where the folder cannot be read any more, the keys stay as they were.
 * @throws config_invalid
 */
export async function openKeys({ dir, pollMs = DEFAULT_POLL_MS, log }: KeysOptions): Promise<Keys> {
  let seen = await changesOf(dir)
  let records = await readKeys(dir)
  let required = needsKey(records)
  let closed = false
  let broken = false

  const look = async (): Promise<void> => {
    try {
      const now = await changesOf(dir)
      if (now !== seen || broken) {
        records = await readKeys(dir)
        seen = now
      }
      // Revoking or removing the last key must not open the service to everyone.
      required ||= needsKey(records)
      broken = false
    } catch (error) {
      if (!broken) log?.('error', `The keys cannot be read again, and stay as they were: ${messageOf(error)}`)
      broken = true
    }
    if (!closed) timer = setTimeout(() => void look(), pollMs).unref()
  }
  let timer = setTimeout(() => void look(), pollMs).unref()

  const good = (): KeyRecord[] => records.filter(({ revoked_at: revoked }) => revoked === undefined)
  return {
    get required() {
      return required
    },
    get hasAdmin() {
      return good().some(({ role }) => role === 'admin')
    },
    find: (key) => {
      const hash = hashKey(key)
      // All are compared, each in constant time: how long it takes tells nothing.
      return good().filter(({ sha256 }) => timingSafeEqual(hash, Buffer.from(sha256, 'hex')))[0]
    },
    named: (name) => good().find((record) => record.name === name),
    close: () => {
      closed = true
      clearTimeout(timer)
    },
  }
}

/** No user key was ever made: whoever reaches the service may ask. Revoked ones count. */
export function needsKey(records: readonly KeyRecord[]): boolean {
  return records.some(({ role }) => role === 'user')
}

/** A text that changes when a key's file is made, replaced, edited or removed. */
async function changesOf(dir: string): Promise<string> {
  const files = await keyFiles(dir)
  const states = await Promise.all(
    files.map((file) => stat(path.join(dir, file)).then(({ mtimeMs, size, ino }) => `${file} ${mtimeMs} ${size} ${ino}`)),
  )
  return states.join('\n')
}
