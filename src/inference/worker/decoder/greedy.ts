import { at, joined } from '../../../../base/at.ts'
import { invalidModel } from '../../../../base/errors.ts'
import type { CepeManifest } from '../../../../models/manifest.ts'
import type { GenerateRequest } from '../../contract.ts'
import type { EncodedContexts } from '../encoder/encode-contexts.ts'
import { type Feeds, type Graph, type Tensor, checkNumber, floats, int64, integers } from '../runtime/session.ts'
import { measuredAttention } from './attention.ts'
import { type Decoded, type RunContext, untilEnd } from './step-decoding.ts'

type GreedyAnswer = Decoded & ReturnType<typeof measuredAttention>

/** Outputs of an answer; the caches are for its continuation. */
const ANSWER = ['tokens', 'logprobs', 'attention']

/** Runs greedy decoding in one run of the generate graph. */
export async function greedy(graph: Graph, request: GenerateRequest, encoded: EncodedContexts): Promise<GreedyAnswer> {
  const { promptIds, maxNewTokens, wantsTokenShares } = request
  const outputs = await graph.run({ ...promptFeeds(promptIds), ...commonFeeds(request, encoded, maxNewTokens) }, ANSWER)
  return {
    tokenIds: integers(outputs, 'tokens'),
    logprobs: Array.from(floats(outputs, 'logprobs'), checkNumber),
    ...measuredAttention(floats(outputs, 'attention'), encoded.tokenCounts, wantsTokenShares),
  }
}

function promptFeeds(promptIds: readonly number[]): Feeds {
  return { input_ids: int64(promptIds, [1, promptIds.length]) }
}

function commonFeeds({ stopIds }: GenerateRequest, { phi }: EncodedContexts, maxNewTokens: number): Feeds {
  return { phi, stop_ids: int64(stopIds, [stopIds.length]), max_new_tokens: int64([maxNewTokens], []) }
}

interface PiecesModel {
  readonly generate: Graph
  /** The continue graph, loaded on first use, in parallel to the first token. */
  readonly rest: () => Promise<Graph>
  readonly dims: CepeManifest['dims']
}

/**
 * The same answer, one token per run: the first by the generate graph, the others by the continue graph, which repeats the same steps.
 * Other tasks run in between, and `yieldPoint` throws if the run is cancelled.
 */
export async function greedyInPieces(
  { generate, rest, dims }: PiecesModel,
  request: GenerateRequest,
  encoded: EncodedContexts,
  runContext: RunContext,
): Promise<GreedyAnswer> {
  const { promptIds, stopIds, wantsTokenShares } = request
  const common = commonFeeds(request, encoded, 1)
  const attention: Float32Array[] = []
  let [prompt, since]: [Feeds, Feeds | undefined] = [{}, undefined]
  const begin = async (): Promise<Feeds> => {
    const outputs = await generate.run({ ...promptFeeds(promptIds), ...common })
    prompt = renamed(outputs, 'prompt', 'prompt')
    return outputs
  }
  const continued = async (token: number, position: number): Promise<Feeds> => {
    await runContext.yieldPoint()
    const graph = await rest()
    const feeds = { ...common, ...prompt, ...(since ?? emptySince(graph, prompt, dims)) }
    const outputs = await graph.run({ ...feeds, token: int64([token], [1, 1]), position: int64([position], [1, 1]) })
    since = renamed(outputs, 'made', 'since')
    return outputs
  }
  // The last token may stand beyond the window: it is not read.
  const maxNewTokens = Math.min(request.maxNewTokens, dims.window + 1 - promptIds.length)
  const decoded = await untilEnd({ stopIds, maxNewTokens }, runContext, async (before) => {
    const last = before.at(-1)
    const outputs = last === undefined ? await begin() : await continued(last, promptIds.length + before.length - 1)
    attention.push(floats(outputs, 'attention'))
    return { id: at(integers(outputs, 'tokens'), 0), logprob: checkNumber(floats(outputs, 'logprobs')[0]) }
  })
  return { ...decoded, ...measuredAttention(joined(Float32Array, attention), encoded.tokenCounts, wantsTokenShares) }
}

/** Renames `from.{layer}.{key|value}` of all layers to `to.{layer}.{key|value}`. */
function renamed(outputs: Feeds, from: string, to: string): Feeds {
  const caches = Object.entries(outputs).filter(([name]) => name.startsWith(`${from}.`))
  if (caches.length === 0) throw invalidModel(from, `The graph gives no "${from}" keys and values: build the model again.`)
  return Object.fromEntries(caches.map(([name, tensor]) => [`${to}${name.slice(from.length)}`, tensor]))
}

function emptySince(graph: Graph, prompt: Feeds, { kv_heads, head_dim }: CepeManifest['dims']): Feeds {
  const empty = (name: string): [string, Tensor] => {
    const since = name.replace(/^prompt/, 'since')
    return [since, graph.input(since, new Uint8Array(0), [1, kv_heads, 0, head_dim])]
  }
  return Object.fromEntries(Object.keys(prompt).map(empty))
}
