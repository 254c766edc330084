import { timingSafeEqual } from 'node:crypto'
import { CodedError, messageOf } from '../../base/errors.ts'
import type { Log } from '../inference/log.ts'
import { readChanges, type KeyFiles } from './follow.ts'
import { hashKey, type KeyRecord } from './record.ts'

const DEFAULT_POLL_MS = 1_000

/** Who a key belongs to, and what it may do. */
export type Holder = Pick<KeyRecord, 'name' | 'role' | 'requests_per_minute' | 'questions_per_day'>

/** The keys of a running service. */
export interface Keys {
  /** Whether questions need a key: there are user keys, or were since the start. */
  readonly required: boolean
  /** Whether there is an admin key that is good. */
  readonly hasAdmin: boolean
  /** Files that cannot be read now, whose last good content counts; 1 where it is the folder. */
  readonly unreadable: number
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
 * A file that cannot be read any more counts as it was, and so do all where the folder cannot; each problem is logged once.
 * @throws config_invalid
 */
export async function openKeys({ dir, pollMs = DEFAULT_POLL_MS, log }: KeysOptions): Promise<Keys> {
  let files = await readChanges(dir, new Map())
  let problems = problemsOf(files)
  const [first] = problems
  if (first !== undefined) throw new CodedError('config_invalid', first, { field: 'CEPE_KEYS_DIR' })
  let records = recordsOf(files)
  let required = needsKey(records)
  let closed = false

  const look = async (): Promise<void> => {
    const before = problems
    try {
      files = await readChanges(dir, files)
      problems = problemsOf(files)
      records = recordsOf(files)
      // Revoking or removing the last key must not open the service to everyone.
      required ||= needsKey(records)
    } catch (error) {
      problems = [messageOf(error)]
    }
    for (const problem of problems)
      if (!before.includes(problem)) log?.('error', `Keys could not be reloaded; the previous keys stay in use: ${problem}`)
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
    get unreadable() {
      return problems.length
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

function recordsOf(files: KeyFiles): KeyRecord[] {
  return [...files.values()].flatMap(({ record }) => record ?? [])
}

function problemsOf(files: KeyFiles): string[] {
  return [...files.values()].flatMap(({ problem }) => problem ?? [])
}
