import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { CacheCounts } from '../../protocol.ts'

/** Encoder states of one passage, [tokens, d_enc] row-major; bit patterns for f16. */
export type ContextStates = Float32Array | Uint16Array

/** LRU cache of encoder states, bounded by bytes. The encoder does not see the question, so a passage's states never change. */
export interface StateCache {
  get(key: string): ContextStates | undefined
  /** Ignores states larger than the whole cache. */
  set(key: string, states: ContextStates): void
  counts(): CacheCounts
}

/** Bytes counted per entry in addition to the states: key, map entry and array header. */
const ENTRY_OVERHEAD_BYTES = 256

/** Creates the cache. @param maxBytes 0 disables it */
export function createStateCache(maxBytes: number): StateCache {
  const cache = new LRUCache<string, ContextStates>({
    // lru-cache treats a bound of 0 as "no bound"; no entry fits into 1 byte.
    maxSize: Math.max(1, maxBytes),
    sizeCalculation: (states) => states.byteLength + ENTRY_OVERHEAD_BYTES,
  })
  let [hits, misses] = [0, 0]
  return {
    get: (key) => {
      const found = cache.get(key)
      if (found === undefined) misses++
      else hits++
      return found
    },
    set: (key, states) => void cache.set(key, states),
    counts: () => ({ hits, misses, bytes: cache.calculatedSize }),
  }
}

/** Key of a passage's states: everything that they depend on. `model` identifies weights and precision. */
export function stateKey(text: string, contextTokens: number, model: string): string {
  return createHash('sha256').update(`${model}\n${contextTokens}\n`).update(text).digest('base64')
}

/** Key of the states of a context given as ids; distinct from every text's key. */
export function idsKey(ids: readonly number[], model: string): string {
  return createHash('sha256').update(`ids ${model}\n`).update(Uint32Array.from(ids)).digest('base64')
}
