import type { CacheCounts } from '../../protocol.ts'
import type { StateCache } from './state-cache.ts'

/** A process has at most one cache. */
let counts: () => CacheCounts | undefined = () => undefined

/** Counters of the process's state cache since its start; undefined without one. */
export function cacheCounts(): CacheCounts | undefined {
  return counts()
}

/** Wraps a cache to count hits and misses for {@link cacheCounts}. */
export function counted(cache: StateCache): StateCache {
  let hits = 0
  let misses = 0
  counts = () => ({ hits, misses, bytes: cache.bytes })
  return {
    get: (key) => {
      const found = cache.get(key)
      if (found === undefined) misses++
      else hits++
      return found
    },
    set: (key, states) => cache.set(key, states),
    get bytes() {
      return cache.bytes
    },
  }
}
