import { LRUCache } from 'lru-cache'
import type { CepeManifest } from '../../../../models/manifest.ts'
import type { CacheCounts } from '../../protocol.ts'
import { type Feeds, type Graph, type Tensor, float32, floats, int64 } from '../runtime/session.ts'
import { isByLength } from './step.ts'

/** Tokens are used in blocks, which keeps the alignment of rows in matrix products, and so their rounding in 8 bits. */
const BLOCK = 16
/** Tokens that are always left to read: a single one is multiplied by other kernels. */
const LEFT = 2
/** The part of the cache that one prompt may take: a larger one is not kept. */
const MOST_OF_CACHE = 1 / 4

/** The beginning of a prompt that was read before: its tokens, and `before.{layer}.{key|value}` of them. */
interface Beginning {
  readonly tokens: number
  readonly before: Feeds
  /** Takes all outputs of the generate graph's run from there; absent where they are not worth keeping. */
  readonly keep?: (outputs: Feeds) => void
}

export type PromptCache = ReturnType<typeof createPromptCache>

/**
 * Keeps keys and values of prompts without contexts, so that a prompt that begins as an earlier one, with the same passage for instance,
 * reads only the rest (prefix caching: Kwon et al. 2023, section 4.4). An answer is that of the whole prompt, bit for bit in `int8-blocks`;
 * float products may round otherwise.
 * @param maxBytes 0 for none
 */
export function createPromptCache(maxBytes: number, generate: Pick<Graph, 'inputs'>, manifest: CepeManifest) {
  const { layers, kv_heads: heads, head_dim: width } = manifest.dims
  const bytesOf = (ids: readonly number[]): number => 2 * layers * heads * width * Float32Array.BYTES_PER_ELEMENT * ids.length
  // lru-cache treats a bound of 0 as "no bound".
  const cache = new LRUCache<readonly number[], Feeds>({ maxSize: Math.max(1, maxBytes), sizeCalculation: (_, ids) => bytesOf(ids) })
  // f16 graphs and those of earlier versions take no beginning; keys of a length-dependent rotary basis belong to one length.
  const isPossible = generate.inputs.includes('before.0.key') && !isByLength(manifest)
  let [hits, misses] = [0, 0]

  const firstOf = (outputs: Feeds, name: string, tokens: number): Tensor => {
    const all = floats(outputs, name)
    const first = new Float32Array(heads * tokens * width)
    for (let head = 0; head < heads; head++) {
      const start = (head * all.length) / heads
      first.set(all.subarray(start, start + tokens * width), head * tokens * width)
    }
    return float32(first, [1, heads, tokens, width])
  }
  return {
    /** @param phi with contexts, keys and values depend on them, too: nothing is kept */
    begin: (promptIds: readonly number[], phi: Pick<Tensor, 'dims'>): Beginning => {
      const reach = Math.floor((promptIds.length - LEFT) / BLOCK) * BLOCK
      if (!isPossible || phi.dims[0] !== 0 || reach <= 0) return { tokens: 0, before: {} }
      let [known, tokens]: [readonly number[], number] = [[], 0]
      for (const ids of cache.keys()) {
        const apart = ids.findIndex((id, i) => id !== promptIds[i])
        const shared = Math.min(reach, Math.floor((apart < 0 ? ids.length : apart) / BLOCK) * BLOCK)
        if (shared > tokens) [known, tokens] = [ids, shared]
      }
      const outputs = cache.get(known) ?? {}
      if (tokens > 0) hits++
      else misses++
      const before = Object.keys(outputs).map((name) => [name.replace('prompt', 'before'), firstOf(outputs, name, tokens)])
      const isWorth = 2 * tokens < reach && bytesOf(promptIds) <= maxBytes * MOST_OF_CACHE
      const keep = (made: Feeds): void => {
        cache.set(promptIds, Object.fromEntries(Object.entries(made).filter(([name]) => name.startsWith('prompt.'))))
      }
      return { tokens, before: Object.fromEntries(before) as Feeds, ...(isWorth && { keep }) }
    },
    counts: (): CacheCounts => ({ hits, misses, bytes: cache.calculatedSize }),
  }
}

export interface PromptReader {
  readonly generate: Graph
  readonly prompts: PromptCache
}

/** Runs the generate graph on a prompt from its beginning on. @param names of the outputs; default: all */
export async function readPrompt(
  { generate, prompts }: PromptReader,
  promptIds: readonly number[],
  feeds: Feeds & Readonly<Record<'phi', Tensor>>,
  names?: readonly string[],
): Promise<Feeds> {
  const { tokens, before, keep } = prompts.begin(promptIds, feeds.phi)
  const ids = int64(promptIds.slice(tokens), [1, promptIds.length - tokens])
  const outputs = await generate.run({ ...feeds, ...before, input_ids: ids }, keep ? undefined : names)
  keep?.(outputs)
  return outputs
}

/** The beginning of a prompt for the step graph, read first by the generate graph, so that both graphs read the same. */
export async function readBeginning(reader: PromptReader, promptIds: readonly number[], phi: Tensor): Promise<Beginning> {
  const begun = reader.prompts.begin(promptIds, phi)
  if (begun.keep === undefined) return begun
  await readPrompt(reader, promptIds, { phi, stop_ids: int64([], [0]), max_new_tokens: int64([1], []) }, [])
  return reader.prompts.begin(promptIds, phi)
}
