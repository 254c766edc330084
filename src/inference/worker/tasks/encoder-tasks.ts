import { at, sum } from '../../../../base/at.ts'
import { loadTokenizer, noTokenizer } from '../../../text/tokenizer.ts'
import { tokenBudgetBatches } from '../../batches.ts'
import { checkNumber, firstRun, floats, padRight, type Feeds } from '../runtime/session.ts'
import type { Log } from '../../log.ts'
import { loadContrieverManifest, loadRerankerManifest } from '../../../../models/folder.ts'
import { loadModelGraph } from '../runtime/prepack.ts'
import type { RerankerManifest } from '../../../../models/manifest.ts'
import type { EncoderChildOptions, TaskHandlers } from '../../protocol.ts'

/** Loads a retriever in this process. @throws model_invalid, provider_unavailable */
export async function createEmbedderTasks(options: EncoderChildOptions, log: Log): Promise<TaskHandlers> {
  const manifest = await loadContrieverManifest(options.modelDir)
  const { cls_id, sep_id, pad_id } = manifest.tokens
  const { window, hidden_size } = manifest.dims
  if (cls_id === null || sep_id === null) throw noTokenizer(options.modelDir)
  const tokenizer = await loadTokenizer(options.modelDir)
  const graph = await loadModelGraph(manifest.graphs.embed, { ...options, manifest, log })
  await firstRun(options.provider, () => graph.run(padRight([[cls_id, sep_id]], pad_id)))
  const tokenize = (text: string): number[] => [cls_id, ...tokenizer.encode(text, { maxTokens: window - 2 }), sep_id]

  return {
    embed: async (texts, yieldPoint) => {
      const rows = texts.map(tokenize)
      const vectors = new Float32Array(texts.length * hidden_size)
      const lengths = rows.map((ids) => ids.length)
      for (const batch of tokenBudgetBatches(lengths, options.batchTokens)) {
        await yieldPoint()
        const padded = batch.map((index) => at(rows, index))
        const embedded = floats(await graph.run(padRight(padded, pad_id)), 'embedding')
        embedded.forEach(checkNumber)
        batch.forEach((index, row) => vectors.set(embedded.subarray(row * hidden_size, (row + 1) * hidden_size), index * hidden_size))
      }
      return vectors
    },
  }
}

/** Loads a cross-encoder in this process. @throws model_invalid, provider_unavailable */
export async function createRerankerTasks(options: EncoderChildOptions, log: Log): Promise<TaskHandlers> {
  const manifest = await loadRerankerManifest(options.modelDir)
  const { pad_id } = manifest.tokens
  const { window } = manifest.dims
  const pair = pairing(manifest, options.modelDir)
  const tokenizer = await loadTokenizer(options.modelDir)
  const graph = await loadModelGraph(manifest.graphs.rank, { ...options, manifest, log })
  const run = (rows: readonly Pair[]): Promise<Feeds> => {
    const [ids, types] = [rows.map((row) => row.ids), rows.map((row) => row.types)]
    return graph.run({ ...padRight(ids, pad_id), token_type_ids: padRight(types, 0).input_ids })
  }
  await firstRun(options.provider, () => run([pair([], [])]))

  return {
    rank: async ({ query, texts, textTokens = window }, yieldPoint) => {
      const queryIds = tokenizer.encode(query, { maxTokens: window })
      const pairs = texts.map((text) => pair(queryIds, tokenizer.encode(text, { maxTokens: Math.min(textTokens, window) })))
      const lengths = pairs.map(({ ids }) => ids.length)
      const scores = new Array<number>(texts.length).fill(0)
      for (const batch of tokenBudgetBatches(lengths, options.batchTokens)) {
        await yieldPoint()
        const scored = floats(await run(batch.map((index) => at(pairs, index))), 'score')
        scored.forEach(checkNumber)
        batch.forEach((index, row) => (scores[index] = at(scored, row)))
      }
      return { scores, tokens: sum(lengths) }
    },
  }
}

/** Input of a cross-encoder. */
interface Pair {
  readonly ids: readonly number[]
  /** 0 for the query and its separators, otherwise the passage's type. */
  readonly types: readonly number[]
}

/**
 * Makes pairs of the ids of a query and a text, truncated to the window: the longer one first, as in transformers.
 * @throws model_invalid if the model was built without a tokenizer
 */
export function pairing({ tokens, dims }: Pick<RerankerManifest, 'tokens' | 'dims'>, modelDir: string) {
  const { cls_id: cls, sep_id: sep, separators, passage_type: type } = tokens
  if (cls === null || sep === null) throw noTokenizer(modelDir)
  const between = Array.from({ length: separators }, () => sep)
  const room = dims.window - separators - 2
  return (query: readonly number[], text: readonly number[]): Pair => {
    const kept = Math.min(query.length, Math.max(room - text.length, Math.ceil(room / 2)))
    const front = [cls, ...query.slice(0, kept), ...between]
    const back = [...text.slice(0, room - kept), sep]
    return { ids: [...front, ...back], types: [...front.map(() => 0), ...back.map(() => type)] }
  }
}
