import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** Encoder states of one passage, [tokens, d_enc] row-major; bit patterns for f16. */
export type ContextStates = Float32Array | Uint16Array

/** LRU cache of encoder states, bounded by bytes. The encoder does not see the question, so a passage's states never change. */
export interface StateCache {
  get(key: string): ContextStates | undefined
  /** Ignores states larger than the whole cache. */
  set(key: string, states: ContextStates): void
  readonly bytes: number
}

/** Bytes counted per entry beside the states: key, map entry and array header. */
const ENTRY_OVERHEAD_BYTES = 256

/** Creates the cache. @param maxBytes 0 disables it */
export function createStateCache(maxBytes: number): StateCache {
  // lru-cache treats a bound of 0 as "no bound".
  if (maxBytes <= 0) return { get: () => undefined, set: () => undefined, bytes: 0 }
  const cache = new LRUCache<string, ContextStates>({
    maxSize: maxBytes,
    sizeCalculation: (states) => states.byteLength + ENTRY_OVERHEAD_BYTES,
  })
  return {
    get: (key) => cache.get(key),
    set: (key, states) => void cache.set(key, states),
    get bytes() {
      return cache.calculatedSize
    },
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
