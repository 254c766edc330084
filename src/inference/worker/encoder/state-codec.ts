import { joined } from '../../../../base/at.ts'
import { f16ToF32, halvesFinite } from '../../../../base/binary16.ts'
import { castModel } from '../../../../models/graphs/cast.ts'
import type { StateDtype } from '../../protocol.ts'
import { float16, float32, floats, halves, loadGraph } from '../runtime/session.ts'
import type { ContextStates } from './state-cache.ts'

/** Converts between encoder output and the stored form. */
export interface StateCodec {
  readonly dtype: StateDtype
  /** Splits concatenated states into one stored array per context. */
  pack(states: Float32Array, sizes: readonly number[]): Promise<ContextStates[]>
  /** Concatenates the states of contexts for the decoder. */
  unpack(parts: readonly ContextStates[]): Promise<Float32Array>
}

/** Stores states as f32, exact. */
const EXACT: StateCodec = {
  dtype: 'f32',
  pack: (states, sizes) => Promise.resolve(cut(states, sizes)),
  unpack: (parts) => Promise.resolve(joinFloats(parts)),
}

/** Creates the codec of a storage type; for f16 the runtime does the rounding. */
export async function createStateCodec(dtype: StateDtype): Promise<StateCodec> {
  if (dtype === 'f32') return EXACT
  const options = { threads: 1, provider: { name: 'cpu' } } as const
  const narrow = await loadGraph(castModel('f32', 'f16'), options)
  const widen = await loadGraph(castModel('f16', 'f32'), options)
  return {
    dtype,
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
  return joined(
    Float32Array,
    parts.map((part) => (part instanceof Uint16Array ? f16ToF32(part) : part)),
  )
}
