import type { CepeManifest, ContrieverManifest, RerankerManifest } from '../../models/manifest.ts'
import type { ChatTemplate, Turn } from '../text/chat-template.ts'
import type { DocumentChunk, DocumentRequest } from '../text/document/request.ts'
import type { Constrained, Grammar } from '../text/grammar/grammar.ts'
import type { Observer } from './observer.ts'
import type { Mode, PromptRequest, ReadPlan } from '../text/plan.ts'
import type { PromptPassage } from '../text/prompt.ts'
import type { Span } from '../../base/sentences.ts'

/** Limits and cancellation of one request. After the deadline its run is cancelled at its next yield point. */
export interface RunOptions {
  readonly signal?: AbortSignal | undefined
  /** Milliseconds from now, including time in the queue. */
  readonly deadlineMs?: number
  /** Opaque client id for fair queueing. Default: one for all requests. */
  readonly client?: string
  /** True for work of an admitted request: no further admission limit applies. */
  readonly admitted?: boolean
  /** Called with parts of the answer's text as they are generated; the last part may be missing. */
  readonly onText?: ((text: string) => void) | undefined
  readonly observe?: Observer
}

/** The options of a run that a further signal cancels too. */
export function cancelledBy(signal: AbortSignal, run: RunOptions): RunOptions & { readonly signal: AbortSignal } {
  return { ...run, signal: run.signal ? AbortSignal.any([run.signal, signal]) : signal }
}

/** The options of a run with the time that is left. @param since start of the run on the clock of performance.now() */
export function withTimeLeft<Run extends RunOptions>(run: Run, since: number): Run {
  return run.deadlineMs === undefined ? run : { ...run, deadlineMs: run.deadlineMs - (performance.now() - since) }
}

export interface Permit {
  /** Releases the permit; `done` if the question was answered. Idempotent. */
  release(done: boolean): void
}

/** Decides which questions are processed. */
export interface Admission {
  /**
   * @param question `cost`: its work relative to others of its `kind`, see `questionCost`; `deadlineMs` from now
   * @throws overloaded with retryAfterS if the queue is full, or the question would miss its deadline
   */
  enter(question: { readonly client?: string; readonly kind?: string; readonly cost: number; readonly deadlineMs?: number }): Permit
}

/** Passages for the encoder: each is encoded alone; the decoder cross-attends to all of their states. */
export interface EncoderInput {
  /** Rendered passages, best first; may be empty. */
  readonly contexts: readonly string[]
  /** Tokens to keep of each context, from its start. */
  readonly contextTokens: number
  /** Contexts as token ids of the encoder (truncated, not tokenised again), instead of `contexts`, which must be empty. */
  readonly contextIds?: readonly (readonly number[])[] | undefined
}
/** Sampling from the most likely tokens: at most `topK`, and of these as many as `topP` takes. */
export interface Sampling {
  readonly temperature: number
  readonly topP: number
  readonly topK?: number
  readonly seed: number
}

export interface GenerateRequest extends EncoderInput {
  /** Decoder prompt, including BOS; prompt and new tokens must fit the window. */
  readonly promptIds: readonly number[]
  readonly stopIds: readonly number[]
  readonly maxNewTokens: number
  /** Minimum tokens before a stop id may be chosen; default 0. */
  readonly minNewTokens?: number | undefined
  /** Decode one token per run, where a single run would need too much memory; attention is not measured. */
  readonly stepwise?: boolean
  readonly sampling?: Sampling | undefined
  /** Also return attention shares of single context tokens. */
  readonly wantsTokenShares?: boolean
  /** Number of most likely tokens to return per position; default none. */
  readonly topTokens?: number | undefined
  /** Constrains the answer; decoded one token per run, attention is not measured. */
  readonly value?: Constrained | undefined
}

/** A candidate token with its natural-log probability. */
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
  /** Read prompt and continuation (exactly one) as one stream through a bounded cache. */
  readonly streaming?: StreamingCache | undefined
}

/**
 * StreamingLLM (Xiao et al. 2024): the stream is read in chunks of `stride` (the first of `sinks + recent`, or `stride` if larger). After
 * each chunk the first `sinks` and the last `recent` rows are kept, at positions by their index in the cache.
 */
export type StreamingCache = Readonly<Record<'sinks' | 'recent' | 'stride', number>>

export interface AttentionFocus {
  /** Share of the context token with most attention. */
  readonly peak: number
  /** 0 if one context token got all attention, 1 if all got the same. */
  readonly entropy: number
}

/** The sentence of a passage with most of the passage's cross-attention, as a span of its text, and its share. */
export interface AttendedSentence extends Span {
  readonly share: number
}

export interface GenerateResult {
  /** Generated ids, including a final stop token. */
  readonly tokenIds: readonly number[]
  /** Natural-log probability of each generated token. */
  readonly logprobs: readonly number[]
  /** Share of cross-attention mass on each context, over layers, heads and generated tokens; sums to 1, or empty without contexts. */
  readonly contextShares: readonly number[]
  /** Per generated token; absent if decoded token by token, empty without contexts. */
  readonly attentionFocus?: readonly AttentionFocus[]
  /** Share of cross-attention of each context token, concatenated over contexts; if requested and measured. */
  readonly tokenShares?: Float64Array
  /** Most likely tokens at each position, if requested. */
  readonly alternatives?: readonly (readonly TokenChance[])[]
  /** Tokens of each context after truncation. */
  readonly contextTokenCounts: readonly number[]
  readonly timingsMs: { readonly queue: number; readonly encode: number; readonly generate: number }
}

/** A question with its passages, for the process that plans its prompts and answers. */
export interface AnswerRead extends Omit<PromptRequest, 'mode'> {
  readonly mode: Mode
  /** Applied to the prompt; default none. */
  readonly chatTemplate?: ChatTemplate
  /** Text after the question. If it asks for the phrase that there is no answer, that is an empty answer. */
  readonly instruction?: string | undefined
  /** Earlier messages; needs a chat template of the model. */
  readonly earlier?: readonly Turn[]
  /** Texts that end the answer; not part of it. */
  readonly stop?: readonly string[]
  readonly sampling?: Sampling | undefined
  readonly replugTemperature: number
  readonly includePrompts: boolean
  readonly attendedSentences?: boolean
  /** Return the answer's tokens, each with this many most likely alternatives. Not in mode replug. */
  readonly topTokens?: number | undefined
  /** The form of the answer. Not in mode replug. */
  readonly grammar?: Grammar | undefined
  /** Whether the request leaves `maxNewTokens` to the model: in mode map-rerank an answer that it cuts is read to its end. */
  readonly isDefaultLimit?: boolean | undefined
  /** In mode map-rerank read the parts of each passage that are nearest to the question, too. */
  readonly focus?: true | undefined
}

export interface AnswerToken {
  readonly text: string
  readonly logprob: number
  /** Most likely tokens at its position, most likely first. */
  readonly top: { readonly text: string; readonly logprob: number }[]
}

/** Where passages were read: in the encoder or in the prompt. */
export interface ReadPlacement extends Pick<ReadPlan, 'contextOf' | 'inDecoder'> {
  /** Tokens of each context after truncation. */
  readonly contextTokenCounts: readonly number[]
}

export type WrittenAnswer = Pick<AnswerReadResult, 'text' | 'stopped' | 'logprobs' | 'tokens'>

export interface AnswerReadResult extends ReadPlacement {
  /** Up to the first line break, trimmed. */
  readonly text: string
  readonly stopped: boolean
  /** Natural-log probability of each generated token, the stop token included. */
  readonly logprobs: readonly number[]
  /** How far the readings of the answer's passage agree with it, 0 to 1, relative to the surest; absent of a single reading. */
  readonly agreement?: number
  /** The greedy answer from the same passages, where it is another one: of sampling, or a value that it does not name. */
  readonly greedy?: Omit<WrittenAnswer, 'tokens'>
  /** The answer in the form of a grammar; with sampling, as it is. */
  readonly written?: WrittenAnswer | undefined
  /** As in {@link GenerateResult}; empty if not measured. */
  readonly contextShares: readonly number[]
  readonly attentionFocus?: readonly AttentionFocus[]
  /** By passage, null if not measured; if requested. */
  readonly attended?: readonly (AttendedSentence | null)[]
  /** Tokens of `text`, if requested. */
  readonly tokens?: AnswerToken[] | undefined
  /** Total of all prompts. */
  readonly promptTokens: number
  readonly prompts: readonly string[]
  /** The encoder's texts after truncation; only if the prompts' texts are requested. */
  readonly contexts: readonly string[]
  readonly timingsMs: { readonly queue: number; readonly plan: number; readonly encode: number; readonly generate: number }
}

/** A document with a question, for the process that splits it and answers. */
export interface DocumentRead extends DocumentRequest, Pick<AnswerRead, 'sampling' | 'includePrompts' | 'isDefaultLimit'> {
  readonly chatTemplate: ChatTemplate
  /** Of its question, which holds it. */
  readonly instruction?: string | undefined
  /** Whether a line end ends the answer; the end token always does. */
  readonly stopAtLineEnd: boolean
  readonly maxNewTokens: number
  readonly minNewTokens: number
  /** Read this many top-ranked chunks for a question, one at a time, instead of the document's end and what the encoder takes. */
  readonly bestChunks?: { readonly question: string; readonly count: number } | undefined
}

/** An answer, whose contexts are `chunks`. */
export interface DocumentReadResult extends Pick<
  AnswerReadResult,
  'text' | 'stopped' | 'logprobs' | 'agreement' | 'contextShares' | 'promptTokens' | 'prompts' | 'contexts' | 'timingsMs'
> {
  /** The encoder's chunks, in document order; best first if only the best are read. */
  readonly chunks: readonly DocumentChunk[]
  /** What stood in a prompt: the document's end, or some of its chunks that fit the question best, best first. */
  readonly inDecoder: readonly DocumentChunk[]
  readonly documentTokens: number
}

export interface ChoicesRead extends PromptRequest, Pick<AnswerRead, 'chatTemplate' | 'instruction' | 'earlier'> {
  readonly choices: readonly string[]
}

/** Passages, for the likelihood of a question after each of them. */
export interface LikelihoodRead {
  readonly question: string
  readonly passages: readonly PromptPassage[]
  /** Tokens to keep of each passage. */
  readonly contextTokens: number
}

export interface AheadResult {
  /** Contexts whose states were missing, and their bytes. */
  readonly stored: number
  readonly bytes: number
  /** Free bytes: of the limit, or of the disk if less. */
  readonly room: number
}

export interface Tasks {
  answer: { input: AnswerRead; output: AnswerReadResult }
  /** Per token of each choice and of the line end after it. */
  choices: { input: ChoicesRead; output: ReadPlacement & { readonly logprobs: readonly (readonly number[])[] } }
  likelihoods: {
    input: LikelihoodRead
    /** Per token of the question and of the line end after it, by passage; the total of all prompts. */
    output: { readonly logprobs: readonly (readonly number[])[]; readonly promptTokens: number }
  }
  document: { input: DocumentRead; output: DocumentReadResult }
  generate: { input: GenerateRequest; output: GenerateResult }
  replug: { input: ReplugRequest; output: GenerateResult }
  /** The log-probability of every token of every continuation, not summed. */
  score: { input: ScoreRequest; output: readonly (readonly number[])[] }
  /** Stores the states of contexts on disk, at lower priority than questions. */
  encodeAhead: { input: EncoderInput; output: AheadResult }
  /** Vectors of all texts, concatenated. */
  embed: { input: readonly string[]; output: Float32Array }
  /** Scores texts for a query (a cross-encoder). */
  rank: {
    /** `textTokens`: tokens to keep of each text, if fewer than the window holds. */
    input: { readonly query: string; readonly texts: readonly string[]; readonly textTokens?: number | undefined }
    /** Unbounded scores by text, higher is better; the total of all pairs' tokens. */
    output: { readonly scores: readonly number[]; readonly tokens: number }
  }
}
export type TaskName = keyof Tasks

/** Tasks as methods of a model; `cost` is the request's work relative to others of its `kind`. */
type Methods<Name extends TaskName> = {
  readonly [Each in Name]: (
    input: Tasks[Each]['input'],
    options?: RunOptions & { readonly kind?: string; readonly cost?: number },
  ) => Promise<Tasks[Each]['output']>
}

export type Reader = { readonly manifest: CepeManifest } & Methods<'answer' | 'choices' | 'likelihoods'>
export type DocumentReader = { readonly manifest: CepeManifest } & Methods<'document'>
export type AheadEncoder = { readonly manifest: CepeManifest } & Methods<'encodeAhead'>
/** The model's tasks on token ids. */
export type Generator = Methods<'generate' | 'replug' | 'score'>
export type Reranker = { readonly manifest: RerankerManifest } & Methods<'rank'>

export interface EmbedOptions extends RunOptions {
  /** Questions precede bulk work; bulk work runs in batches, so that a question waits for one batch at most. */
  readonly priority: 'question' | 'bulk'
}

export interface Embedders<One extends Embedder = Embedder> {
  readonly embedder: One
  /** Further models by id, whose tables can be searched and changed; default none. */
  readonly further?: ReadonlyMap<string, One>
}

export function embedderOf({ embedder, further }: Embedders, model: { readonly id: string }): Embedder {
  return further?.get(model.id) ?? embedder
}

export interface Embedder {
  readonly manifest: ContrieverManifest
  /** One vector of `manifest.dims.hidden_size` numbers per text, in order. Texts longer than the window are truncated. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<Float32Array[]>
}
