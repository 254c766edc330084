/** When a request is sent again. */
export interface RetryOptions {
  /** Tries per request where the service is out of reach, or busy without a Retry-After. Default: 3. */
  readonly attempts?: number
  /** Milliseconds before the second try; doubled for each further one, and the least that is waited. Default: 250. */
  readonly pauseMs?: number
  /** Milliseconds for which a request that a busy service refuses with a Retry-After is sent again, however often. Default: 60,000. */
  readonly busyMs?: number
  /** A Retry-After of more milliseconds is not waited for: the quota of a day is used up, for one. Default: 30,000. */
  readonly longestWaitMs?: number
}
export type RetryPolicy = Required<RetryOptions>

export function retryPolicy({ attempts = 3, pauseMs = 250, busyMs = 60_000, longestWaitMs = 30_000 }: RetryOptions = {}): RetryPolicy {
  return { attempts, pauseMs, busyMs, longestWaitMs }
}

/** How a try failed. */
export interface FailedTry {
  /** Tries so far that nobody was told to repeat, this one included. */
  readonly attempt: number
  /** Milliseconds since the first try. */
  readonly sinceMs: number
  /** What the service asked for. */
  readonly retryAfterS?: number | undefined
}

/** Milliseconds until the next try, or undefined where there is none. */
export function waitBefore({ attempt, sinceMs, retryAfterS }: FailedTry, policy: RetryPolicy): number | undefined {
  if (retryAfterS === undefined) return attempt < policy.attempts ? policy.pauseMs * 2 ** (attempt - 1) : undefined
  const waitMs = Math.max(policy.pauseMs, retryAfterS * 1000)
  return waitMs <= policy.longestWaitMs && sinceMs + waitMs <= policy.busyMs ? waitMs : undefined
}

/** @throws the signal's reason where it ends the wait */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const leave = (): void => {
      clearTimeout(timer)
      // A signal's reason is its caller's to choose.
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave)
      resolve()
    }, ms)
    signal?.addEventListener('abort', leave, { once: true })
  })
}
