import type { CepeManifest, ContrieverManifest } from '../../models/manifest.ts'

/** Limits and cancellation of one request. Past the deadline the child that runs it is killed and replaced. */
export interface RunOptions {
  readonly signal?: AbortSignal
  /** Milliseconds from now, queueing included. */
  readonly deadlineMs?: number
}

/** Passages for the encoder: each is encoded alone; the decoder cross-attends to all of their states. */
export interface EncoderInput {
  /** Rendered passages, best first; may be empty. */
  readonly contexts: readonly string[]
  /** Tokens kept of each, from its front. */
  readonly contextTokens: number
  /** Contexts as ids of the encoder's vocabulary, taken as they are (cut, never tokenised anew), in place of `contexts`, which is then empty. */
  readonly contextIds?: readonly (readonly number[])[]
}

export interface GenerateRequest extends EncoderInput {
  /** Decoder prompt, BOS included; prompt and new tokens together fit the window. */
  readonly promptIds: readonly number[]
  readonly stopIds: readonly number[]
  readonly maxNewTokens: number
  /** Tokens before which no stop id is chosen; 0 where absent. */
  readonly minNewTokens?: number
  /** Greedy where absent. */
  readonly sampling?: { readonly temperature: number; readonly topP: number; readonly seed: number }
}

/** One prompt per passage; their next-token distributions are mixed with softmax(score / temperature) (RePlug). */
export interface ReplugRequest {
  readonly prompts: readonly { readonly ids: readonly number[]; readonly score: number }[]
  readonly temperature: number
  readonly stopIds: readonly number[]
  readonly maxNewTokens: number
}

export interface ScoreRequest extends EncoderInput {
  readonly promptIds: readonly number[]
  readonly continuations: readonly (readonly number[])[]
  /** Reads prompt and continuation (one only) as one stream through a bounded cache, in place of a full one. */
  readonly streaming?: StreamingCache
}

/**
 * StreamingLLM (Xiao et al. 2024): the stream is read in pieces of `stride` (at first `sinks + recent`, or `stride` where
 * that is more, tokens fit); after each piece the first `sinks` and the last `recent` rows are kept, at positions by their
 * place in the cache.
 */
export interface StreamingCache {
  readonly sinks: number
  readonly recent: number
  readonly stride: number
}

export interface GenerateResult {
  /** Generated ids; the stop token, if one was met, is the last. */
  readonly tokenIds: readonly number[]
  /** Natural-log probability of each generated token. */
  readonly logprobs: readonly number[]
  /** Share of cross-attention mass on each context, over layers, heads and generated tokens; sums to 1, or empty without contexts. */
  readonly contextShares: readonly number[]
  /** Tokens of each context after truncation. */
  readonly contextTokenCounts: readonly number[]
  readonly timingsMs: { readonly queue: number; readonly encode: number; readonly generate: number }
}

export interface Reader {
  readonly manifest: CepeManifest
  generate(request: GenerateRequest, options?: RunOptions): Promise<GenerateResult>
  replug(request: ReplugRequest, options?: RunOptions): Promise<GenerateResult>
  /** Sum is the caller's: log-probability of every token of every continuation. */
  score(request: ScoreRequest, options?: RunOptions): Promise<readonly (readonly number[])[]>
}

export interface EmbedOptions extends RunOptions {
  /** Questions go ahead of bulk work; bulk work is taken in batches so that a question waits for one batch at most. */
  readonly priority: 'question' | 'bulk'
}

export interface Embedder {
  readonly manifest: ContrieverManifest
  /** One vector of `manifest.dims.hidden_size` numbers per text, in order. Texts longer than the window are truncated. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<Float32Array[]>
}
