import { setTimeout } from 'node:timers/promises'
import { sum } from '../../base/at.ts'
import { closing } from '../../base/files.ts'
import type { CepeReaderConfig } from '../../models/checkpoint/config/config.ts'
import { readCorpus } from '../../eval/datasets/read.ts'
import { demoCorpus } from '../../eval/datasets/shipped.ts'
import type { AnswerRead, AnswerReadResult } from '../../src/inference/contract.ts'
import { createReader } from '../../src/inference/pool/models/create-reader.ts'
import type { Provider } from '../../src/inference/protocol.ts'
import { table, type Limits } from '../measure.ts'

interface StagesOptions {
  readonly modelDir: string
  readonly config: CepeReaderConfig
  readonly provider: Provider
  readonly threads: number
  readonly ks: readonly number[]
  readonly kDecoders: readonly number[]
  readonly limits: Limits
  /** Bytes read per weight for further tokens, which limit their speed. */
  readonly weightBytes: number
  readonly stateDir: string
}

const NEW_TOKENS = 25
const STATE_BYTES = 2 ** 36
/** States are written after the answer, in the background. */
const WRITE_MS = 1000
const QUESTION = 'what is the capital of australia'

/** Passages of the shipped corpus, as if retrieved. */
export async function corpusPassages(count: number): Promise<AnswerRead['passages']> {
  const { passages } = await readCorpus(demoCorpus())
  return passages.slice(0, count).map(({ title, text }, i) => ({ title, text, score: count - i }))
}

const HEAD = [
  ...['k', 'k_decoder', 'prompt', 'context rows', 'new tokens', 'encode, s', 'from disk, s', 'generate, s', 'answer, states stored, s'],
  ...['encode, of the limit', 'generate, of the limit', 'resident'],
]

/** A question with new passages, which no earlier one has encoded. */
function readOf(passages: AnswerRead['passages'], kDecoder: number): AnswerRead {
  return {
    question: QUESTION,
    mode: 'cepe',
    passages,
    kDecoder,
    encoderPassages: 'others',
    demonstrations: [],
    contextTokens: 256,
    maxNewTokens: NEW_TOKENS,
    packing: 'passages',
    replugTemperature: 1,
    includePrompts: false,
  }
}

/**
 * Asks a reader process, as run by the service, a question over k passages: once with nothing encoded, once with all states on disk.
 * Reports seconds per stage, and what the machine's f32 product (or the device's) would take for the same operations.
 * @returns the lines of a table
 */
export async function stageLines(options: StagesOptions): Promise<string[]> {
  const { modelDir, provider, threads, ks, kDecoders, stateDir } = options
  const since = performance.now()
  await using reader = closing(
    await createReader({
      modelDir,
      provider,
      threads,
      promptCacheBytes: 0,
      stateCacheBytes: 0,
      stateDtype: 'f16',
      stateDisk: { dir: stateDir, maxBytes: STATE_BYTES },
    }),
  )
  const ready = (performance.now() - since) / 1000
  const most = Math.max(...ks)
  const passages = await corpusPassages(most * ks.length * kDecoders.length)
  const resident = (): string => `${(Math.max(...reader.status().children.map(({ rssBytes }) => rssBytes)) / 2 ** 30).toFixed(2)} GiB`
  const loaded = resident()
  const rows: string[][] = []
  for (const k of ks) {
    for (const kDecoder of kDecoders) {
      const first = rows.length * most
      const read = readOf(passages.slice(first, first + k), kDecoder)
      const fresh = await reader.answer(read)
      await setTimeout(WRITE_MS)
      const again = await reader.answer(read)
      rows.push([String(k), String(kDecoder), ...stageCells(options, fresh, again), resident()])
    }
  }
  return [`Ready in ${ready.toFixed(1)} s, ${loaded} resident then.`, '', table(HEAD, rows)]
}

/** @param again the same question again, with all states stored */
function stageCells(options: StagesOptions, fresh: AnswerReadResult, again: AnswerReadResult): string[] {
  const { encode } = fresh.timingsMs
  const { encode: fromDisk, generate } = again.timingsMs
  const limit = limitsOf(options, fresh)
  return [
    ...[fresh.promptTokens, sum(fresh.contextTokenCounts), fresh.logprobs.length].map(String),
    ...[encode, fromDisk, generate, fromDisk + generate].map((ms) => (ms / 1000).toFixed(ms < 10_000 ? 3 : 1)),
    ...[share(limit.encode, encode), share(limit.generate, generate)],
  ]
}

/** Milliseconds of prompt and further tokens at the machine's limits. */
function limitsOf(
  { config, limits, weightBytes }: StagesOptions,
  { promptTokens, contextTokenCounts, logprobs }: AnswerReadResult,
): { readonly encode: number; readonly generate: number } {
  const rows = sum(contextTokenCounts)
  const prefill = prefillFlops(config, promptTokens, rows) / limits.gflops
  const further =
    (logprobs.length - 1) *
    ((tokenBytes(config) * weightBytes) / 4 / limits.gigabytesPerSecond + absorbedFlops(config, rows) / limits.gflops)
  return { encode: encoderFlops(config, contextTokenCounts) / limits.gflops / 1e6, generate: (prefill + further) / 1e6 }
}

function share(limit: number, ms: number): string {
  return limit === 0 ? '' : (limit / ms).toFixed(2)
}

// Operations and bytes: multiply-adds count as two operations; norms, softmax and embeddings are ignored.

/** Encoder over passages of the given lengths. */
function encoderFlops({ encoder: { hiddenSize: d, intermediateSize: ff, layers } }: CepeReaderConfig, lengths: readonly number[]): number {
  return layers * lengths.reduce((sum, length) => sum + 2 * length * (4 * d * d + 3 * d * ff) + 4 * length * length * d, 0)
}

function keyWidth({ decoder: { kvHeads, headDim } }: CepeReaderConfig): number {
  return kvHeads * headDim
}

/** Weights of the decoder used per token, without keys and values of the cross-attention. */
function tokenWeights({
  decoder: { hiddenSize: d, intermediateSize: ff, heads, kvHeads, layers },
  crossAttentionLayers,
}: CepeReaderConfig): number {
  return layers * (2 * d * d + (2 * d * d * kvHeads) / heads + 3 * d * ff) + crossAttentionLayers * 2 * d * d
}

/** A prompt of `length` tokens over `rows` of phi, up to the first token's logits. */
function prefillFlops(config: CepeReaderConfig, length: number, rows: number): number {
  const { decoder, encoder, crossAttentionLayers } = config
  const { hiddenSize: d, vocabSize, layers } = decoder
  const cross = crossAttentionLayers * (4 * rows * encoder.hiddenSize * keyWidth(config) + 4 * length * rows * d)
  return 2 * length * tokenWeights(config) + layers * 2 * length * length * d + cross + 2 * d * vocabSize
}

/** Absorbed cross-attention of one token over `rows` of phi. */
function absorbedFlops({ decoder: { heads, hiddenSize: d }, encoder, crossAttentionLayers }: CepeReaderConfig, rows: number): number {
  return crossAttentionLayers * (4 * heads * rows * encoder.hiddenSize + 4 * d * encoder.hiddenSize)
}

/** Bytes of f32 weights that one new token reads. */
function tokenBytes(config: CepeReaderConfig): number {
  const { decoder, encoder, crossAttentionLayers } = config
  const { hiddenSize: d, vocabSize } = decoder
  return 4 * (tokenWeights(config) + crossAttentionLayers * 2 * keyWidth(config) * encoder.hiddenSize + d * vocabSize)
}
