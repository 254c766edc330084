import { CodedError, isErrorCode, messageOf, type ErrorCode, type ErrorDetails } from '../../base/errors.ts'
import type {
  AheadResult,
  AnswerRead,
  AnswerReadResult,
  ChoicesRead,
  ChoicesReadResult,
  DocumentRead,
  DocumentReadResult,
  EncoderInput,
  GenerateRequest,
  GenerateResult,
  LikelihoodRead,
  LikelihoodResult,
  RankRead,
  RankResult,
  ReplugRequest,
  ScoreRequest,
} from './contract.ts'

/** Where graphs run. CUDA needs onnxruntime-node's CUDA libraries installed. */
export type Provider = { readonly name: 'cpu' } | { readonly name: 'cuda'; readonly deviceId: number }

/**
 * Messages between the service and its inference processes (structured clone: typed arrays cross as bytes).
 * Both ends are this program, started by it, so messages are typed but not validated.
 */

export interface CommonChildOptions {
  /** Folder of the built model. */
  readonly modelDir: string
  readonly threads: number
  readonly provider: Provider
  /** Folder for graphs saved with prepacked weights, which processes share; null loads the graphs as built. */
  readonly prepackDir: string | null
}

/** How encoder states are kept. */
export type StateDtype = 'f16' | 'f32'

export interface ReaderChildOptions extends CommonChildOptions {
  readonly role: 'reader'
  /** Padded tokens of one encoder run. */
  readonly batchTokens: number
  /** Prompt tokens of one run of the step graph. */
  readonly prefillTokens: number
  readonly stateCacheBytes: number
  readonly stateDtype: StateDtype
  /** Where encoder states are kept on the disk too; null for nowhere. */
  readonly stateDisk: { readonly dir: string; readonly maxBytes: number } | null
  /** Memory for the keys and values of RePlug's prompts. */
  readonly replugBytes: number
}

export interface EmbedderChildOptions extends CommonChildOptions {
  readonly role: 'embedder'
  /** Padded tokens of one run. */
  readonly batchTokens: number
}

export interface RerankerChildOptions extends CommonChildOptions {
  readonly role: 'reranker'
  /** Padded tokens of one run. */
  readonly batchTokens: number
}

export type ChildOptions = ReaderChildOptions | EmbedderChildOptions | RerankerChildOptions

/** A result as the process gives it: the time in the queue is the pool's to add. */
type InChild<Result extends { readonly timingsMs: { readonly queue: number } }> = Omit<Result, 'timingsMs'> & {
  readonly timingsMs: Omit<Result['timingsMs'], 'queue'>
}
type Decoded = InChild<GenerateResult>

/** What each task takes and gives. */
export interface Tasks {
  answer: { input: AnswerRead; output: InChild<AnswerReadResult> }
  choices: { input: ChoicesRead; output: ChoicesReadResult }
  likelihoods: { input: LikelihoodRead; output: LikelihoodResult }
  document: { input: DocumentRead; output: InChild<DocumentReadResult> }
  generate: { input: GenerateRequest; output: Decoded }
  replug: { input: ReplugRequest; output: Decoded }
  score: { input: ScoreRequest; output: readonly (readonly number[])[] }
  /** Stores the states of contexts on the disk; behind questions. */
  encodeAhead: { input: EncoderInput; output: AheadResult }
  /** Vectors of all texts, one after the other. */
  embed: { input: readonly string[]; output: Float32Array }
  rank: { input: RankRead; output: RankResult }
}
export type TaskName = keyof Tasks
export type Output<Name extends TaskName> = Tasks[Name]['output']

/**
 * Awaited between the steps of a task: lets messages and other tasks in.
 * @throws client_closed where the task is no longer wanted
 */
export type YieldPoint = () => Promise<void>

/**
 * A piece of a text as it comes about. Pieces come in order; `from`, the characters before this one, tells a piece that
 * comes again: a run that is done anew says the same.
 */
export interface Piece {
  readonly from: number
  readonly text: string
}
export type OnText = (piece: Piece) => void

/** What a process does of the tasks; `say` is there where the caller listens. */
export type TaskHandlers = {
  readonly [Name in TaskName]?: (input: Tasks[Name]['input'], step: YieldPoint, onText?: OnText) => Promise<Output<Name>>
}

export type TaskCall = { readonly [Name in TaskName]: { readonly task: Name; readonly input: Tasks[Name]['input'] } }[TaskName]

export type ParentMessage =
  | { readonly kind: 'start'; readonly options: ChildOptions }
  /** `streamed`: the caller wants the text as it is generated. */
  | { readonly kind: 'run'; readonly id: number; readonly job: TaskCall; readonly streamed: boolean }
  /** The run is no longer wanted: it ends at its next step. */
  | { readonly kind: 'cancel'; readonly id: number }
  | { readonly kind: 'ping' }

/** What a cache of encoder states did since its process started. */
export interface CacheCounts {
  readonly hits: number
  readonly misses: number
  readonly bytes: number
}

export type ChildMessage =
  | { readonly kind: 'ready'; readonly rssBytes: number }
  | { readonly kind: 'refused'; readonly error: WireError }
  /** Part of the text of a `streamed` run. */
  | { readonly kind: 'piece'; readonly id: number; readonly piece: Piece }
  | {
      readonly kind: 'done'
      readonly id: number
      readonly output: unknown
      readonly rssBytes: number
      readonly cache?: CacheCounts | undefined
    }
  | { readonly kind: 'failed'; readonly id: number; readonly error: WireError; readonly rssBytes: number }
  /** Answers a ping: the process's thread turns. */
  | { readonly kind: 'pong' }
  /** From here, or to here, a graph is loaded, which keeps the process from answering pings. */
  | { readonly kind: 'loading'; readonly loading: boolean }
  | { readonly kind: 'log'; readonly level: 'info' | 'warn' | 'error'; readonly message: string }

/** An error as it crosses the boundary: structured clone keeps neither the class nor the code. */
export interface WireError {
  readonly code: ErrorCode
  readonly message: string
  readonly details: ErrorDetails
}

/** Errors without a code become `inference_failed`. */
export function toWire(thrown: unknown): WireError {
  return thrown instanceof CodedError
    ? { code: thrown.code, message: thrown.message, details: { field: thrown.field, retryAfterS: thrown.retryAfterS } }
    : { code: 'inference_failed', message: messageOf(thrown), details: {} }
}

/** The error that a child sent. What had no code there is inference_failed. */
export function fromWire({ code, message, details }: WireError): CodedError {
  return new CodedError(isErrorCode(code) ? code : 'inference_failed', message, details)
}
