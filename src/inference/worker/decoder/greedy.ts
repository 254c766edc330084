import { at, joined } from '../../../../base/at.ts'
import { invalidModel } from '../../../../base/errors.ts'
import type { GenerateRequest } from '../../contract.ts'
import type { EncodedContexts } from '../encoder/encode-contexts.ts'
import { type Feeds, type Graph, checkNumber, floats, int64, integers } from '../runtime/session.ts'
import { measuredAttention } from './attention.ts'
import { type PromptReader, readPrompt } from './prompt-cache.ts'
import { type Decoded, type RunContext, untilEnd } from './step-decoding.ts'

type GreedyAnswer = Decoded & ReturnType<typeof measuredAttention>

/** Outputs of an answer; the caches are for its continuation. */
const ANSWER = ['tokens', 'logprobs', 'attention']

/** Runs greedy decoding in one run of the generate graph. */
export async function greedy(model: PromptReader, request: GenerateRequest, encoded: EncodedContexts): Promise<GreedyAnswer> {
  const { promptIds, maxNewTokens, wantsTokenShares } = request
  const outputs = await readPrompt(model, promptIds, commonFeeds(request, encoded, maxNewTokens), ANSWER)
  return {
    tokenIds: integers(outputs, 'tokens'),
    logprobs: Array.from(floats(outputs, 'logprobs'), checkNumber),
    ...measuredAttention(floats(outputs, 'attention'), encoded.tokenCounts, wantsTokenShares),
  }
}

function commonFeeds({ stopIds }: GenerateRequest, { phi }: EncodedContexts, maxNewTokens: number) {
  return { phi, stop_ids: int64(stopIds, [stopIds.length]), max_new_tokens: int64([maxNewTokens], []) }
}

interface PiecesModel extends PromptReader {
  /** The continue graph, loaded on first use, in parallel to the first token. */
  readonly rest: () => Promise<Graph>
  /** Of the decoder, in tokens. */
  readonly window: number
}

/**
 * The same answer, one token per run: the first by the generate graph, the others by the continue graph, which repeats the same steps.
 * Other tasks run in between, and `yieldPoint` throws if the run is cancelled.
 */
export async function greedyInPieces(
  { rest, window, ...model }: PiecesModel,
  request: GenerateRequest,
  encoded: EncodedContexts,
  runContext: RunContext,
): Promise<GreedyAnswer> {
  const { promptIds, stopIds, wantsTokenShares } = request
  const common = commonFeeds(request, encoded, 1)
  const attention: Float32Array[] = []
  let [prompt, since]: Feeds[] = [{}, {}]
  const begin = async (): Promise<Feeds> => {
    const outputs = await readPrompt(model, promptIds, common)
    prompt = renamed(outputs, 'prompt', 'prompt')
    return outputs
  }
  const continued = async (token: number, position: number): Promise<Feeds> => {
    await runContext.yieldPoint()
    const graph = await rest()
    const outputs = await graph.run({ ...common, ...prompt, ...since, token: int64([token], [1, 1]), position: int64([position], [1, 1]) })
    since = renamed(outputs, 'made', 'since')
    return outputs
  }
  // The last token may stand beyond the window: it is not read.
  const maxNewTokens = Math.min(request.maxNewTokens, window + 1 - promptIds.length)
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
