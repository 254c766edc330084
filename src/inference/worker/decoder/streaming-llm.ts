import { at } from '../../../../base/at.ts'
import { CodedError } from '../../../../base/errors.ts'
import type { CepeManifest } from '../../../../models/manifest.ts'
import type { ScoreRequest, StreamingCache } from '../../contract.ts'
import type { YieldPoint } from '../../protocol.ts'
import { logSoftmax } from './sampling.ts'
import { emptyPast, extend, logitsRow, mapPast, type Past, type StepModel } from './step.ts'
import type { Tensor } from '../runtime/session.ts'

/** Rotary settings of a model whose keys can be shifted. */
export type MovedKeys = Extract<CepeManifest['rotary'], { readonly frequencies: readonly number[] }>

/**
 * Log-probabilities of the continuation's tokens, with the whole text read through a cache of sinks and recent tokens (StreamingLLM with
 * positional shift). Cached keys are already rotated and rotations compose: a key shifted back by n positions is rotated by -n, which
 * equals rotating it at its index in the cache; the same holds for xPos's scales.
 */
export async function scoreStreaming(
  model: StepModel,
  { promptIds, continuations }: ScoreRequest,
  cache: StreamingCache,
  { rotary, phi, yieldPoint }: { readonly rotary: MovedKeys; readonly phi: Tensor; readonly yieldPoint: YieldPoint },
): Promise<number[][]> {
  const { stride } = cache
  const ids = [...promptIds, ...at(continuations, 0)]
  const logprobs: number[] = []
  let past = emptyPast(model)
  for (let start = 0; start < ids.length; start += stride) {
    const end = Math.min(start + stride, ids.length)
    for (let from = start; from < end; from += model.prefillTokens) {
      const to = Math.min(from + model.prefillTokens, end)
      await yieldPoint()
      const step = await extend(model, past, [ids.slice(from, to)], phi)
      past = step.past
      // Row i of the chunk predicts token from + i + 1.
      for (let next = Math.max(from + 1, promptIds.length); next <= to && next < ids.length; next++)
        logprobs.push(at(logSoftmax(logitsRow(model, step.logits, next - 1 - from)), at(ids, next)))
    }
    past = evict(model, past, cache, rotary)
  }
  return [logprobs]
}

/** Keeps the first `sinks` rows and the last `recent`, shifted back to follow the sinks. */
function evict(model: StepModel, past: Past, { sinks, recent }: StreamingCache, rotary: MovedKeys): Past {
  const width = at(past.mask, 0).length
  const evicted = width - sinks - recent
  if (evicted <= 0) return past
  const { head_dim: size, kv_heads: heads } = model.dims
  const kept = sinks + recent
  const turn = rotateBack(evicted, rotary)
  return mapPast(model, past, [Array.from({ length: kept }, () => 1)], (name, tensor) => {
    const { data } = tensor
    if (!(data instanceof Float32Array))
      throw new CodedError('unsupported', 'A streaming cache needs f32 keys and values: build the model with dtype f32 or int4.')
    const rows = new Float32Array(heads * kept * size)
    for (let head = 0; head < heads; head++) {
      const source = data.subarray(head * width * size, (head + 1) * width * size)
      rows.set(source.subarray(0, sinks * size), head * kept * size)
      const moved = source.slice((width - recent) * size)
      if (name.endsWith('.key')) rotate(moved, size, turn)
      rows.set(moved, (head * kept + sinks) * size)
    }
    return model.graph.input(name, new Uint8Array(rows.buffer), [1, heads, kept, size])
  })
}

/** Rotation of a shifted key per pair: complex factors, and the channels of a pair. */
function rotateBack(positions: number, { frequencies, key_growth: growth, interleaved = false }: MovedKeys) {
  const scales = frequencies.map((_, i) => (growth ? at(growth, i) ** -positions : 1))
  return {
    cos: frequencies.map((f, i) => at(scales, i) * Math.cos(positions * f)),
    sin: frequencies.map((f, i) => at(scales, i) * -Math.sin(positions * f)),
    interleaved,
  }
}

/** Rotates rows [n, head_dim] in place; pair i is (i, i + head_dim/2), as in LLaMA's checkpoints, or (2i, 2i + 1). */
function rotate(rows: Float32Array, size: number, { cos, sin, interleaved }: ReturnType<typeof rotateBack>): void {
  const half = size / 2
  const [next, other] = interleaved ? [2, 1] : [1, half]
  for (let row = 0; row < rows.length; row += size) {
    for (let i = 0; i < half; i++) {
      const first = row + next * i
      const [a, b] = [rows[first] as number, rows[first + other] as number]
      const [c, s] = [cos[i] as number, sin[i] as number]
      rows[first] = a * c - b * s
      rows[first + other] = b * c + a * s
    }
  }
}
