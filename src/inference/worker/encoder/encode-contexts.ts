import { at, sum } from '../../../../base/at.ts'
import { CodedError } from '../../../../base/errors.ts'
import { type CepeManifest, modelId } from '../../../../models/manifest.ts'
import type { Tokenizer } from '../../../text/tokenizer.ts'
import { tokenBudgetBatches } from '../../batches.ts'
import type { AheadResult, EncoderInput } from '../../contract.ts'
import type { YieldPoint } from '../../protocol.ts'
import { type Graph, float32, floats, padRight } from '../runtime/session.ts'
import { type ContextStates, type StateCache, type StateCodec, idsKey, stateKey } from './state-cache.ts'
import type { StateStore } from './state-store.ts'

/** `phi`: concatenated states of all contexts, [m, d_enc]; `tokenCounts`: tokens of each context, which sum to m. */
export type EncodedContexts = Awaited<ReturnType<typeof encodeContexts>>

export interface ContextEncoder {
  /** null for a decoder without encoder. */
  readonly graph: Graph | null
  readonly tokenizer: Tokenizer
  readonly manifest: CepeManifest
  readonly cache: StateCache
  readonly codec: StateCodec
  /** States on disk; null for none. */
  readonly store: StateStore | null
  readonly batchTokens: number
}

/**
 * Encodes each context separately (the paper's parallel encoding), without BOS, truncated at its end. Cached states are used; equal
 * contexts are encoded once. New states are rounded to the storage type before use, so that an answer does not depend on the cache.
 */
export async function encodeContexts(encoder: ContextEncoder, input: EncoderInput, yieldPoint: YieldPoint = () => Promise.resolve()) {
  const { manifest, cache, codec, store } = encoder
  const width = manifest.dims.encoder_hidden_size
  const sources = contextSources(encoder, input)
  const known = await knownStates(encoder, new Set(sources.map(({ key }) => key)))
  const missing = new Map<string, readonly number[]>()
  for (const { key, ids } of sources) {
    if (known.has(key) || missing.has(key)) continue
    await yieldPoint()
    missing.set(key, ids())
  }
  for (const [key, states] of await encodeMissing(encoder, missing, yieldPoint)) {
    known.set(key, states)
    cache.set(key, states)
    store?.keep(key, states)
  }
  const ordered = sources.map(({ key }) => known.get(key) ?? NO_STATES)
  const tokenCounts = ordered.map((states) => states.length / width)
  const tokens = sum(tokenCounts)
  return { phi: float32(await codec.unpack(ordered), [tokens, width]), tokenCounts }
}

/** Cached states, from memory or else from disk. */
async function knownStates({ cache, store }: ContextEncoder, keys: ReadonlySet<string>): Promise<Map<string, ContextStates>> {
  const known = new Map<string, ContextStates>()
  const read = [...keys].map(async (key) => {
    const cached = cache.get(key)
    const states = cached ?? (await store?.read(key))
    if (!states) return
    known.set(key, states)
    if (!cached) cache.set(key, states)
  })
  await Promise.all(read)
  return known
}

/** Precomputes states of contexts on disk, not in memory. @throws config_invalid without a disk store; disk_full; system errors */
export async function encodeAhead(encoder: ContextEncoder, input: EncoderInput, yieldPoint: YieldPoint): Promise<AheadResult> {
  const { store } = encoder
  if (!store) throw new CodedError('config_invalid', 'This reader keeps no encoder states on the disk: set CEPE_STATE_DISK_MB.')
  const missing = new Map<string, readonly number[]>()
  for (const { key, ids } of contextSources(encoder, input)) {
    await yieldPoint()
    if (!(await store.has(key))) missing.set(key, ids())
  }
  let [stored, bytes] = [0, 0]
  for (const [key, states] of await encodeMissing(encoder, missing, yieldPoint)) {
    const written = await store.write(key, states)
    if (written > 0) stored++
    bytes += written
  }
  return { stored, bytes, room: await store.room() }
}

/** Key of the states of each context, and its ids, computed only if the states are unknown. */
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

/** States of ids by key, in order; rows of similar length share a run, and other tasks run in between. */
async function encodeMissing(
  { graph, manifest, batchTokens, codec }: ContextEncoder,
  missing: ReadonlyMap<string, readonly number[]>,
  yieldPoint: YieldPoint,
): Promise<ReadonlyMap<string, ContextStates>> {
  const states = new Map([...missing.keys()].map((key) => [key, NO_STATES]))
  // An empty context has no states, and attention over a fully masked row is undefined.
  const filled = [...missing].filter(([, ids]) => ids.length > 0)
  if (!graph) return states
  const lengths = filled.map(([, ids]) => ids.length)
  for (const batch of tokenBudgetBatches(lengths, batchTokens)) {
    await yieldPoint()
    const members = batch.map((position) => at(filled, position))
    const padded = members.map(([, ids]) => ids)
    const phi = floats(await graph.run(padRight(padded, manifest.tokens.pad_id ?? 0)), 'phi')
    const sizes = padded.map((ids) => ids.length * manifest.dims.encoder_hidden_size)
    const packed = await codec.pack(phi, sizes)
    for (const [i, [key]] of members.entries()) states.set(key, at(packed, i))
  }
  return states
}
