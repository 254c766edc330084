import type { CepeManifest, ContrieverManifest, RerankerManifest } from '../../models/manifest.ts'
import type { ChatTemplate, Turn } from '../text/chat-template.ts'
import type { DocumentChunk, DocumentRequest } from '../text/document/request.ts'
import type { Grammar } from '../text/grammar/grammar.ts'
import type { Observer } from './observer.ts'
import type { PromptRequest } from '../text/plan.ts'
import type { PromptPassage } from '../text/prompt.ts'

/** Limits and cancellation of one request. Past the deadline its run ends at its next step. */
export interface RunOptions {
  readonly signal?: AbortSignal
  /** Milliseconds from now, queueing included. */
  readonly deadlineMs?: number
  /** Who asks, opaque: processes are shared between clients by the work that they bring. Default: one for all. */
  readonly client?: string
  /** True for work of a request that was admitted already: no further limit applies to it. */
  readonly admitted?: boolean
  /** Of an answer: hears its text as it comes about, in pieces. What they leave out of the answer is its end. */
  readonly onText?: (text: string) => void
  /** Called with the parts of the work. */
  readonly observe?: Observer
}

/** A question's place in the service. */
export interface Permit {
  /** Gives the place back; `done` where the question was answered. Further calls change nothing. */
  release(done: boolean): void
}

/** Decides which questions are worked on at all. */
export interface Admission {
  /**
   * @param question `cost`: its work beside that of others, see `questionCost`; `deadlineMs` from now
   * @throws overloaded with retryAfterS where there is no place, or where it would not be answered by its deadline
   */
  enter(question: { readonly client?: string; readonly cost: number; readonly deadlineMs?: number }): Permit
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
  /** Token by token, in place of one run that would hold too much at once; attention is not measured. */
  readonly stepwise?: boolean
  /** Greedy where absent. */
  readonly sampling?: { readonly temperature: number; readonly topP: number; readonly seed: number }
  /** Give the shares of single context tokens too. */
  readonly wantsTokenShares?: boolean
  /** Also tell so many of the likeliest tokens at each place; none where absent. */
  readonly topTokens?: number
  /** Texts that the answer is held to; token by token, attention is not measured. */
  readonly grammar?: Grammar
}

/** A token that could have been said, with its natural-log probability. */
export interface TokenChance {
  readonly id: number
  readonly logprob: number
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

/** How a new token's cross-attention lies on the context tokens. */
export interface AttentionFocus {
  /** Share of the context token that got most. */
  readonly peak: number
  /** 0 where one context token got all, 1 where each got the same. */
  readonly entropy: number
}

/** The sentence of a passage that got most of the passage's cross-attention, as a span of its text, and its share of that. */
export interface AttendedSentence {
  readonly start: number
  readonly end: number
  readonly share: number
}

export interface GenerateResult {
  /** Generated ids; the stop token, if one was met, is the last. */
  readonly tokenIds: readonly number[]
  /** Natural-log probability of each generated token. */
  readonly logprobs: readonly number[]
  /** Share of cross-attention mass on each context, over layers, heads and generated tokens; sums to 1, or empty without contexts. */
  readonly contextShares: readonly number[]
  /** Of every generated token; absent where it was not measured (sampling), empty without contexts. */
  readonly attentionFocus?: readonly AttentionFocus[]
  /** Share of cross-attention on each context token, one context after the other; where it was asked for and measured. */
  readonly tokenShares?: Float64Array
  /** Of every generated token: the likeliest ones in its place, where they were asked for. */
  readonly alternatives?: readonly (readonly TokenChance[])[]
  /** Tokens of each context after truncation. */
  readonly contextTokenCounts: readonly number[]
  readonly timingsMs: { readonly queue: number; readonly encode: number; readonly generate: number }
}

/** A question with its passages, for the process that plans its prompts, reads and answers. */
export interface AnswerRead extends PromptRequest {
  /** Put around the prompt; nothing where absent. */
  readonly chatTemplate?: ChatTemplate
  /** What was said before the question; a template of the model's own is needed. */
  readonly earlier?: readonly Turn[]
  /** Texts that end the answer where they come up; they are not part of it. */
  readonly stop?: readonly string[]
  /** Greedy where absent. */
  readonly sampling?: { readonly temperature: number; readonly topP: number; readonly seed: number }
  /** RePlug: temperature of the passages' weights. */
  readonly replugTemperature: number
  /** Give the prompts' texts too. */
  readonly includePrompts: boolean
  /** Say which sentence of each passage was attended to most. */
  readonly attendedSentences?: boolean
  /** Tell the answer's tokens, each with so many of the likeliest in its place. Not in mode replug. */
  readonly topTokens?: number
  /** Texts that the answer is held to. Not in mode replug. */
  readonly grammar?: Grammar
}

/** A token of an answer's text. */
export interface AnswerToken {
  readonly text: string
  readonly logprob: number
  /** The likeliest tokens in its place, likeliest first. */
  readonly top: readonly { readonly text: string; readonly logprob: number }[]
}

/** Where passages were read. */
export interface ReadPlacement {
  /** Index of the context that holds passage i, or -1. */
  readonly contextOf: readonly number[]
  readonly inDecoder: readonly boolean[]
  /** Tokens of each context after truncation. */
  readonly contextTokenCounts: readonly number[]
}

export interface AnswerReadResult extends ReadPlacement {
  /** Up to the first line break, trimmed. */
  readonly text: string
  /** The answer ended by itself. */
  readonly stopped: boolean
  /** Natural-log probability of each generated token, the stop token included. */
  readonly logprobs: readonly number[]
  /** As in {@link GenerateResult}; empty where the passages' shares were not measured. */
  readonly contextShares: readonly number[]
  /** As in {@link GenerateResult}. */
  readonly attentionFocus?: readonly AttentionFocus[]
  /** By passage, null for those that were not measured; where it was asked for. */
  readonly attended?: readonly (AttendedSentence | null)[]
  /** Those of `text`; where they were asked for. */
  readonly tokens?: readonly AnswerToken[]
  /** Of all prompts. */
  readonly promptTokens: number
  readonly prompts: readonly string[]
  /** What the encoder read, as cut; only where the prompts' texts are asked for. */
  readonly contexts: readonly string[]
  readonly timingsMs: { readonly queue: number; readonly plan: number; readonly encode: number; readonly generate: number }
}

/** A document with a question, for the process that divides it, reads and answers. */
export interface DocumentRead extends DocumentRequest {
  readonly chatTemplate: ChatTemplate
  /** Whether a line end ends the answer; the end token always does. */
  readonly stopAtLineEnd: boolean
  readonly maxNewTokens: number
  readonly minNewTokens: number
  /** Greedy where absent. */
  readonly sampling?: { readonly temperature: number; readonly topP: number; readonly seed: number }
  /** Give the prompt and the encoder's texts too. */
  readonly includePrompts: boolean
}

export interface DocumentReadResult {
  readonly text: string
  /** The answer ended by itself. */
  readonly stopped: boolean
  readonly logprobs: readonly number[]
  /** What the encoder read, in the order of the document. */
  readonly chunks: readonly DocumentChunk[]
  /** As in {@link GenerateResult}, of `chunks`; empty where it was not measured. */
  readonly contextShares: readonly number[]
  /** What the decoder's prompt held of the document. */
  readonly tail: DocumentChunk | null
  readonly documentTokens: number
  readonly promptTokens: number
  readonly prompts: readonly string[]
  readonly contexts: readonly string[]
  readonly timingsMs: { readonly queue: number; readonly plan: number; readonly encode: number; readonly generate: number }
}

/** What answering from a document needs of a reader. */
export interface DocumentReader {
  readonly manifest: CepeManifest
  document(read: DocumentRead, options?: RunOptions & { readonly cost?: number }): Promise<DocumentReadResult>
}

export interface ChoicesRead extends PromptRequest {
  readonly choices: readonly string[]
  readonly chatTemplate?: ChatTemplate
  readonly earlier?: readonly Turn[]
}

export interface ChoicesReadResult extends ReadPlacement {
  /** Of every token of every choice and of the line end after it. */
  readonly logprobs: readonly (readonly number[])[]
}

/** Passages, each of which is asked how likely a question is after it. */
export interface LikelihoodRead {
  readonly question: string
  readonly passages: readonly PromptPassage[]
  /** Tokens kept of each passage. */
  readonly contextTokens: number
}

export interface LikelihoodResult {
  /** Of every token of the question and of the line end after it, by passage. */
  readonly logprobs: readonly (readonly number[])[]
  /** Of all prompts. */
  readonly promptTokens: number
}

/** A query and the texts that it is read with, one pair after the other. */
export interface RankRead {
  readonly query: string
  readonly texts: readonly string[]
  /** Tokens kept of each text, where it is to be fewer than the window holds. */
  readonly textTokens?: number | undefined
}

export interface RankResult {
  /** By text, higher is better: any number. */
  readonly scores: readonly number[]
  /** Of all pairs. */
  readonly tokens: number
}

/** Scores texts for a query (a cross-encoder). */
export interface Reranker {
  readonly manifest: RerankerManifest
  rank(read: RankRead, options?: RunOptions): Promise<RankResult>
}

/** What answering needs of a reader. `cost` is the request's work beside that of others. */
export interface Reader {
  readonly manifest: CepeManifest
  answer(read: AnswerRead, options?: RunOptions & { readonly cost?: number }): Promise<AnswerReadResult>
  choices(read: ChoicesRead, options?: RunOptions & { readonly cost?: number }): Promise<ChoicesReadResult>
  likelihoods(read: LikelihoodRead, options?: RunOptions & { readonly cost?: number }): Promise<LikelihoodResult>
}

/** The model's own tasks, on token ids. */
export interface Generator {
  generate(request: GenerateRequest, options?: RunOptions): Promise<GenerateResult>
  replug(request: ReplugRequest, options?: RunOptions): Promise<GenerateResult>
  /** Sum is the caller's: log-probability of every token of every continuation. */
  score(request: ScoreRequest, options?: RunOptions): Promise<readonly (readonly number[])[]>
}

/** What storing states ahead came to. */
export interface AheadResult {
  /** Contexts whose states were not there yet, and the bytes of those. */
  readonly stored: number
  readonly bytes: number
  /** Bytes that may still be written: of the limit, or of the disk where that has less. */
  readonly room: number
}

/** Stores the encoder states of contexts on the disk, ahead of the questions that will need them. */
export interface AheadEncoder {
  readonly manifest: CepeManifest
  encodeAhead(input: EncoderInput, options?: RunOptions): Promise<AheadResult>
}

export interface EmbedOptions extends RunOptions {
  /** Questions go ahead of bulk work; bulk work is taken in batches so that a question waits for one batch at most. */
  readonly priority: 'question' | 'bulk'
}

/** The loaded models of questions and passages. */
export interface Embedders<One extends Embedder = Embedder> {
  /** Of the model that new tables are made with. */
  readonly embedder: One
  /** Of further models, by their ids: their tables are searched and changed too. None where absent. */
  readonly further?: ReadonlyMap<string, One>
}

/** The embedder of a loaded model. */
export function embedderOf({ embedder, further }: Embedders, model: { readonly id: string }): Embedder {
  return further?.get(model.id) ?? embedder
}

export interface Embedder {
  readonly manifest: ContrieverManifest
  /** One vector of `manifest.dims.hidden_size` numbers per text, in order. Texts longer than the window are truncated. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<Float32Array[]>
}
