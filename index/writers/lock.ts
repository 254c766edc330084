import { CodedError } from '../../base/errors.ts'
import type { LockOptions } from '../store/store.ts'
import { storeOf } from '../store/store-of.ts'

/** Runs work under a lock, in order of arrival. @throws overloaded if the lock is not acquired within `waitMs` */
export async function withLock<T>(location: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const lock = await storeOf(location).locks.take(location, options)
  if (lock === undefined) {
    const seconds = Math.round(options.waitMs / 1000)
    throw new CodedError('overloaded', `The writer lock was not acquired within ${seconds} s. Try again later.`, { retryAfterS: 5 })
  }
  try {
    return await work()
  } finally {
    await lock.release()
  }
}
