import { setTimeout as sleep } from 'node:timers/promises'
import pLimit, { type LimitFunction } from 'p-limit'

/** Runs work at a host when it is the host's turn. */
export type AtHost = <Result>(host: string, work: () => Promise<Result>) => Promise<Result>

/** Serializes work per host, with a delay before all but the first. */
export function createHostTurns({ delayMs, signal }: { readonly delayMs: number; readonly signal: AbortSignal }): AtHost {
  const hosts = new Map<string, LimitFunction>()
  return (host, work) => {
    const known = hosts.get(host)
    const turns = known ?? pLimit(1)
    hosts.set(host, turns)
    return turns(async () => {
      if (known !== undefined && delayMs > 0) await sleep(delayMs, undefined, { signal })
      signal.throwIfAborted()
      return work()
    })
  }
}
