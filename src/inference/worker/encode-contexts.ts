import { modelId, type CepeManifest } from '../../../models/manifest.ts'
import type { Tokenizer } from '../../text/tokenizer.ts'
import { tokenBudgetBatches } from '../batches.ts'
import type { EncoderInput } from '../contract.ts'
import type { Step } from '../protocol.ts'
import { padRight } from './pad.ts'
import { float32, floats, type Graph, type Tensor } from './session.ts'
import { idsKey, stateKey, type ContextStates, type StateCache } from './state-cache.ts'

export interface EncodedContexts {
  /** States of all contexts one after the other, [m, d_enc]. */
  readonly phi: Tensor
  /** Tokens of each context; they sum to m. */
  readonly tokenCounts: readonly number[]
}

export interface ContextEncoder {
  /** null for a decoder alone, which is asked without contexts. */
  readonly graph: Graph | null
  readonly tokenizer: Tokenizer
  readonly manifest: CepeManifest
  readonly cache: StateCache
  /** Padded tokens of one run. */
  readonly batchTokens: number
}

/**
 * Encodes every context alone (the paper's parallel encoding), without BOS, cut at its end.
 * Cached states are taken as they are; equal contexts are encoded once.
 */
export async function encodeContexts(
  encoder: ContextEncoder,
  input: EncoderInput,
  step: Step = () => Promise.resolve(),
): Promise<EncodedContexts> {
  const { manifest, cache } = encoder
  const width = manifest.dims.encoder_hidden_size
  const sources = contextSources(encoder, input)
  const known = new Map<string, ContextStates>()
  const missing = new Map<string, readonly number[]>()
  for (const { key, ids } of sources) {
    if (known.has(key) || missing.has(key)) continue
    const states = cache.get(key)
    if (states) known.set(key, states)
    else {
      await step()
      missing.set(key, ids())
    }
  }
  const fresh = await encodeRows(encoder, [...missing.values()], step)
  for (const [index, key] of [...missing.keys()].entries()) {
    const states = fresh[index] ?? NO_STATES
    known.set(key, states)
    cache.set(key, states)
  }
  const ordered = sources.map(({ key }) => known.get(key) ?? NO_STATES)
  return { phi: concatenate(ordered, width), tokenCounts: ordered.map((states) => states.length / width) }
}

/** Of each context the key of its states, and its ids, which are only made where the states are not known. */
function contextSources({ manifest, tokenizer }: ContextEncoder, { contexts, contextTokens, contextIds }: EncoderInput) {
  const limit = Math.min(contextTokens, manifest.dims.encoder_window)
  const model = modelId(manifest)
  if (contextIds) {
    return contextIds.map((given) => {
      const ids = given.slice(0, limit)
      return { key: idsKey(ids, model), ids: () => ids }
    })
  }
  return contexts.map((text) => ({ key: stateKey(text, limit, model), ids: () => tokenizer.encode(text, { maxTokens: limit }) }))
}

const NO_STATES: ContextStates = new Float32Array(0)

/** States of each row of ids, in order; rows of like length share a run, and others come in between runs. */
async function encodeRows(
  { graph, manifest, batchTokens }: ContextEncoder,
  rows: readonly (readonly number[])[],
  step: Step,
): Promise<ContextStates[]> {
  const states = rows.map(() => NO_STATES)
  // A context without tokens has no states, and attention over a fully masked row is undefined.
  const filled = [...rows.entries()].filter(([, ids]) => ids.length > 0)
  if (!graph) return states
  for (const batch of tokenBudgetBatches(
    filled.map(([, ids]) => ids.length),
    batchTokens,
  )) {
    await step()
    const members = batch.flatMap((position) => filled.slice(position, position + 1))
    const phi = floats(
      await graph.run(
        padRight(
          members.map(([, ids]) => ids),
          manifest.tokens.pad_id ?? 0,
        ),
      ),
      'phi',
    )
    let offset = 0
    for (const [index, ids] of members) {
      const size = ids.length * manifest.dims.encoder_hidden_size
      // A copy: a view would keep the whole batch in memory for as long as one context is cached.
      states[index] = phi.slice(offset, offset + size)
      offset += size
    }
  }
  return states
}

function concatenate(parts: readonly ContextStates[], width: number): Tensor {
  const all = new Float32Array(parts.reduce((size, part) => size + part.length, 0))
  let offset = 0
  for (const part of parts) {
    all.set(part, offset)
    offset += part.length
  }
  return float32(all, [all.length === 0 ? 0 : all.length / width, width])
}
