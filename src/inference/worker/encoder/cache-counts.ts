import type { CacheCounts } from '../../protocol.ts'
import type { StateCache } from './state-cache.ts'

/** This process has one cache at most. */
let counts: () => CacheCounts | undefined = () => undefined

/** What the process's cache of states did since its start; undefined where it has none. */
export function cacheCounts(): CacheCounts | undefined {
  return counts()
}

/** A cache whose hits and misses are counted for {@link cacheCounts}. */
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
