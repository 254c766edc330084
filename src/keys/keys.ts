import { timingSafeEqual } from 'node:crypto'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../inference/log.ts'
import { hashKey, keysFailed, type KeyRecord } from './record.ts'
import { readChanges, type KeyFiles } from './store.ts'

/** Owner of a key and its permissions. */
export type Holder = Pick<KeyRecord, 'name' | 'role' | 'requests_per_minute' | 'questions_per_day' | 'collections'>

export type Keys = Awaited<ReturnType<typeof openKeys>>

/**
 * Reads the keys of a folder and follows its changes: added and revoked keys take effect within a second. Unreadable files, or an
 * unreadable folder, keep their last state; each problem is logged once.
 * @throws config_invalid
 */
export async function openKeys({ dir, pollMs = 1_000, log }: { dir: string; pollMs?: number; log?: Log | undefined }) {
  let files = await readChanges(dir)
  let problems = problemsOf(files)
  const [first] = problems
  if (first !== undefined) throw keysFailed(first)
  let records = recordsOf(files)
  let required = needsKey(records)
  let closed = false

  const look = async (): Promise<void> => {
    const before = problems
    try {
      const had = files.size
      files = await readChanges(dir, files)
      if (files.size === 0 && had > 0)
        log?.('error', `All keys have disappeared from ${dir}: none is accepted. If the folder was unmounted, mount it again.`)
      problems = problemsOf(files)
      records = recordsOf(files)
      // Revoking or removing the last key must not open the service.
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
    /** Whether questions need a key: there are user keys, or were since the start. */
    get required(): boolean {
      return required
    },
    get hasAdmin(): boolean {
      return good().some(({ role }) => role === 'admin')
    },
    /** All keys, revoked ones included, by name. */
    get records(): readonly KeyRecord[] {
      return records
    },
    /** Number of unreadable files, whose last valid content applies; 1 for an unreadable folder. */
    get unreadable(): number {
      return problems.length
    },
    /** The holder of a key; undefined if unknown or revoked. */
    find: (key: string): Holder | undefined => {
      const hash = hashKey(key)
      // Compares with all keys, each in constant time, against timing attacks.
      return good().filter(({ sha256 }) => timingSafeEqual(hash, Buffer.from(sha256, 'hex')))[0]
    },
    named: (name: string): Holder | undefined => good().find((record) => record.name === name),
    close: (): void => {
      closed = true
      clearTimeout(timer)
    },
  }
}

/** True once any user key was created, including revoked ones. */
export function needsKey(records: readonly KeyRecord[]): boolean {
  return records.some(({ role }) => role === 'user')
}

function recordsOf(files: KeyFiles): KeyRecord[] {
  return [...files.values()].flatMap(({ record }) => record ?? [])
}

function problemsOf(files: KeyFiles): string[] {
  return [...files.values()].flatMap(({ problem }) => problem ?? [])
}
