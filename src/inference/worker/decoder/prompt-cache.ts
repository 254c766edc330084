import { createHash } from 'node:crypto'
import { at } from '../../../../base/at.ts'
import { type CepeManifest, modelId } from '../../../../models/manifest.ts'
import type { StateCache } from '../encoder/state-cache.ts'
import { type Feeds, type Graph, type Tensor, float32, floats, int64 } from '../runtime/session.ts'
import { isByLength } from './step.ts'

/** Tokens of an entry: the beginning of a prompt is known up to a multiple of it. */
const BLOCK = 16
/** The part of the cache that one prompt may take: a larger one is not kept. */
const MOST_OF_CACHE = 1 / 4
const FLOAT_BYTES = 4

/** The beginning of a prompt that was read before: its tokens, and `before.{layer}.{key|value}` of them. */
interface Beginning {
  readonly tokens: number
  readonly before: Feeds
  /** Takes all outputs of the generate graph's run from there; absent where nothing of them is kept. */
  readonly keep?: (outputs: Feeds) => void
}

export type PromptCache = (promptIds: readonly number[], phi: Pick<Tensor, 'dims'>) => Beginning

/**
 * Keeps keys and values of prompts without contexts, in blocks of tokens, so that a prompt that begins as an earlier one, with the same
 * passage for instance, reads only the rest (automatic prefix caching: Kwon et al. 2023, section 4.4). A block is used only behind the
 * tokens that it was computed behind. An answer is that of the whole prompt, bit for bit in `int8-blocks`; float products may round otherwise.
 */
export function createPromptCache(cache: StateCache, generate: Pick<Graph, 'inputs'>, manifest: CepeManifest): PromptCache {
  const { layers, kv_heads: heads, head_dim: width } = manifest.dims
  const model = modelId(manifest)
  const names = Array.from({ length: layers }, (_, layer) => [`${layer}.key`, `${layer}.value`]).flat()
  const tokenBytes = names.length * heads * width * FLOAT_BYTES
  const mostTokens = (cache.maxBytes * MOST_OF_CACHE) / tokenBytes
  // f16 graphs and those of earlier versions take no beginning; keys of a length-dependent rotary basis belong to one length.
  const isPossible = generate.inputs.includes('before.0.key') && !isByLength(manifest)
  /** Floats of one head in a block. */
  const part = BLOCK * width

  const feedsOf = (blocks: readonly Float32Array[]): Feeds => {
    const length = blocks.length * BLOCK
    const tensors = names.map((name, row) => {
      const data = new Float32Array(heads * length * width)
      for (let head = 0; head < heads; head++) {
        const start = (row * heads + head) * part
        blocks.forEach((block, i) => data.set(block.subarray(start, start + part), head * length * width + i * part))
      }
      return [`before.${name}`, float32(data, [1, heads, length, width])] as const
    })
    return Object.fromEntries(tensors)
  }

  const blockOf = (outputs: Feeds, index: number): Float32Array => {
    const block = new Float32Array(names.length * heads * part)
    for (const [row, name] of names.entries()) {
      const data = floats(outputs, `prompt.${name}`)
      for (let head = 0; head < heads; head++) {
        const start = (head * data.length) / heads + index * part
        block.set(data.subarray(start, start + part), (row * heads + head) * part)
      }
    }
    return block
  }

  return (promptIds, phi) => {
    // With contexts, keys and values depend on them too.
    if (!isPossible || phi.dims[0] !== 0 || promptIds.length > mostTokens) return { tokens: 0, before: {} }
    const keys = blockKeys(promptIds, model)
    // The last is looked up first, and leaves the cache first: without those before it a block is of no use.
    const found = keys
      .toReversed()
      .map((key) => cache.get(key))
      .toReversed()
    const known: Float32Array[] = []
    for (const block of found) {
      if (!(block instanceof Float32Array)) break
      known.push(block)
    }
    const keep = (outputs: Feeds): void => {
      for (let i = keys.length - 1; i >= known.length; i--) cache.set(at(keys, i), blockOf(outputs, i))
    }
    const begun = { tokens: known.length * BLOCK, before: known.length === 0 ? {} : feedsOf(known) }
    return known.length < keys.length ? { ...begun, keep } : begun
  }
}

/** Feeds of the generate graph for a prompt from its beginning on. */
export function promptFeeds(promptIds: readonly number[], { tokens, before }: Beginning): Feeds {
  return { input_ids: int64(promptIds.slice(tokens), [1, promptIds.length - tokens]), ...before }
}

/** The beginning of a prompt for the step graph, read first by the generate graph, so that both graphs read the same. */
export async function readBeginning(prompts: PromptCache, generate: Graph, promptIds: readonly number[], phi: Tensor): Promise<Beginning> {
  const begun = prompts(promptIds, phi)
  if (begun.keep === undefined) return begun
  const ending = { stop_ids: int64([], [0]), max_new_tokens: int64([1], []) }
  begun.keep(await generate.run({ ...promptFeeds(promptIds, begun), ...ending, phi }))
  return prompts(promptIds, phi)
}

/** A key for each whole block, the tokens up to its end. One token is read by other kernels than several: two are always left to read. */
function blockKeys(promptIds: readonly number[], model: string): string[] {
  const keys: string[] = []
  for (let end = BLOCK; end <= promptIds.length - 2; end += BLOCK) {
    const ids = Uint32Array.from(promptIds.slice(end - BLOCK, end))
    keys.push(
      createHash('sha256')
        .update(`${keys.at(-1) ?? `prompt ${model}`}\n`)
        .update(ids)
        .digest('base64'),
    )
  }
  return keys
}
