import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { joined } from '../../../../base/at.ts'
import { f16ToF32, halvesFinite } from '../../../../base/binary16.ts'
import { castModel } from '../../../../models/graphs/cast.ts'
import type { StateDtype } from '../../protocol.ts'
import { float16, float32, floats, halves, loadGraph } from '../runtime/session.ts'

/** Encoder states of one passage, [tokens, d_enc] row-major; bit patterns for f16. */
export type ContextStates = Float32Array | Uint16Array

/** Bytes counted per entry in addition to the states: key, map entry and array header. */
const ENTRY_OVERHEAD_BYTES = 256

export type StateCache = ReturnType<typeof createStateCache>

/**
 * LRU cache of encoder states. The encoder does not see the question, so a passage's states never change. States larger than the whole
 * cache are not kept.
 * @param maxBytes 0 disables it
 */
export function createStateCache(maxBytes: number) {
  const cache = new LRUCache<string, ContextStates>({
    // lru-cache treats a bound of 0 as "no bound"; no entry fits into 1 byte.
    maxSize: Math.max(1, maxBytes),
    sizeCalculation: (states) => states.byteLength + ENTRY_OVERHEAD_BYTES,
  })
  let [hits, misses] = [0, 0]
  return {
    get: (key: string): ContextStates | undefined => {
      const found = cache.get(key)
      if (found === undefined) misses++
      else hits++
      return found
    },
    set: (key: string, states: ContextStates): void => void cache.set(key, states),
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

/** Converts between encoder output and the stored form. */
export interface StateCodec {
  /** Splits concatenated states into one stored array per context. */
  pack(states: Float32Array, sizes: readonly number[]): Promise<ContextStates[]>
  /** Concatenates the states of contexts for the decoder. */
  unpack(parts: readonly ContextStates[]): Promise<Float32Array>
}

/** Creates the codec of a storage type: f32 is exact, for f16 the runtime does the rounding. */
export async function createStateCodec(dtype: StateDtype): Promise<StateCodec> {
  if (dtype === 'f32')
    return { pack: (states, sizes) => Promise.resolve(cut(states, sizes)), unpack: (parts) => Promise.resolve(joinFloats(parts)) }
  const options = { threads: 1, provider: { name: 'cpu' } } as const
  const narrow = await loadGraph(castModel('f32', 'f16'), options)
  const widen = await loadGraph(castModel('f16', 'f32'), options)
  return {
    pack: async (states, sizes) => {
      const packed = cut(halves(await narrow.run({ x: float32(states, [states.length]) }), 'y'), sizes)
      // A context beyond f16's range, which a trained final norm stays far within, is stored as f32.
      if (packed.every(halvesFinite)) return packed
      const own = cut(states, sizes)
      return packed.map((part, i) => (halvesFinite(part) ? part : (own[i] ?? part)))
    },
    unpack: async (parts) => {
      const narrowed = parts.filter((part) => part instanceof Uint16Array)
      if (narrowed.length < parts.length || parts.length === 0) return joinFloats(parts)
      return floats(await widen.run({ x: float16(joined(Uint16Array, narrowed)) }), 'y')
    },
  }
}

/** Copies: a view would keep the states of a whole batch in memory while one context is cached. */
function cut<States extends Float32Array | Uint16Array>(states: States, sizes: readonly number[]): States[] {
  let offset = 0
  return sizes.map((size) => states.slice(offset, (offset += size)) as States)
}

function joinFloats(parts: readonly ContextStates[]): Float32Array {
  const widened = parts.map((part) => (part instanceof Uint16Array ? f16ToF32(part) : part))
  return joined(Float32Array, widened)
}
