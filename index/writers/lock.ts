import { CodedError } from '../../base/errors.ts'
import { takeLock as takeFileLock, type Lock } from '../../base/locks/lock.ts'
import { takeLease } from '../store/lease.ts'
import { isRemote } from '../store/location.ts'

export interface LockOptions {
  readonly signal?: AbortSignal | undefined
  /** In an object store: ends the late writes of a holder that did not release the lock. */
  readonly onTakeover?: () => Promise<void>
  /** It saves work that would be done twice, and nothing else: what is written meanwhile is right without it too. */
  readonly advisory?: boolean
}

const NOTHING = (): Promise<void> => Promise.resolve()

/**
 * A lock between the processes of an index: by files in a folder, and in an object store, where a folder has no order, by a lease.
 * @param waitMs 0 to try once.
 * @returns undefined if others hold it for longer than that.
 */
export async function takeLock(
  location: string,
  waitMs: number,
  { signal, onTakeover = NOTHING, advisory = false }: LockOptions = {},
): Promise<Lock | undefined> {
  return isRemote(location) ? takeLease(location, { waitMs, signal, onTakeover, advisory }) : takeFileLock(location, waitMs, signal)
}

/** Takes a lock for a moment's work, after those who came first. @throws overloaded if they take longer than `waitMs`. */
export async function withLock<T>(location: string, waitMs: number, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const lock = await takeLock(location, waitMs, options)
  if (lock === undefined) {
    const seconds = Math.round(waitMs / 1000)
    throw new CodedError('overloaded', `The writer lock was not acquired within ${seconds} s. Try again later.`, { retryAfterS: 5 })
  }
  try {
    return await work()
  } finally {
    await lock.release()
  }
}
