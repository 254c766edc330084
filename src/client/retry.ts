/** When to retry a request. */
export interface RetryOptions {
  /** Attempts per request if the service is unreachable, or busy without a Retry-After. Default: 3. */
  readonly attempts?: number
  /** Milliseconds before the second attempt, doubled for each further one; also the minimum wait. Default: 250. */
  readonly pauseMs?: number
  /** Milliseconds for which a request rejected with a Retry-After is retried. Default: 60,000. */
  readonly busyMs?: number
  /** A longer Retry-After, in milliseconds, is not waited for, for example of a daily quota. Default: 30,000. */
  readonly longestWaitMs?: number
}
export type RetryPolicy = Required<RetryOptions>

export function retryPolicy({ attempts = 3, pauseMs = 250, busyMs = 60_000, longestWaitMs = 30_000 }: RetryOptions = {}): RetryPolicy {
  return { attempts, pauseMs, busyMs, longestWaitMs }
}

/** A failed attempt. */
export interface FailedTry {
  /** Failed attempts without a Retry-After, including this one. */
  readonly attempt: number
  /** Milliseconds since the first attempt. */
  readonly sinceMs: number
  /** The response's Retry-After. */
  readonly retryAfterS?: number | undefined
}

/** Milliseconds until the next attempt; undefined to give up. */
export function waitBefore({ attempt, sinceMs, retryAfterS }: FailedTry, policy: RetryPolicy): number | undefined {
  if (retryAfterS === undefined) return attempt < policy.attempts ? policy.pauseMs * 2 ** (attempt - 1) : undefined
  const waitMs = Math.max(policy.pauseMs, retryAfterS * 1000)
  return waitMs <= policy.longestWaitMs && sinceMs + waitMs <= policy.busyMs ? waitMs : undefined
}

/** @throws the signal's reason once aborted */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end, { once: true })
  })
  signal?.throwIfAborted()
}
