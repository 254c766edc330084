import { CodedError, isErrorCode, messageOf, type ErrorCode, type ErrorDetails } from '../../base/errors.ts'
import type {
  AnswerRead,
  AnswerReadResult,
  ChoicesRead,
  ChoicesReadResult,
  DocumentRead,
  DocumentReadResult,
  GenerateRequest,
  GenerateResult,
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

export interface ReaderChildOptions extends CommonChildOptions {
  readonly role: 'reader'
  /** Padded tokens of one encoder run. */
  readonly batchTokens: number
  /** Prompt tokens of one run of the step graph. */
  readonly prefillTokens: number
  readonly stateCacheBytes: number
  /** Memory for the keys and values of RePlug's prompts. */
  readonly replugBytes: number
}

export interface EmbedderChildOptions extends CommonChildOptions {
  readonly role: 'embedder'
  /** Padded tokens of one run. */
  readonly batchTokens: number
}

export type ChildOptions = ReaderChildOptions | EmbedderChildOptions

/** A result as the process gives it: the time in the queue is the pool's to add. */
type InChild<Result extends { readonly timingsMs: { readonly queue: number } }> = Omit<Result, 'timingsMs'> & {
  readonly timingsMs: Omit<Result['timingsMs'], 'queue'>
}
type Decoded = InChild<GenerateResult>

/** What each task takes and gives. */
export interface Tasks {
  answer: { input: AnswerRead; output: InChild<AnswerReadResult> }
  choices: { input: ChoicesRead; output: ChoicesReadResult }
  document: { input: DocumentRead; output: InChild<DocumentReadResult> }
  generate: { input: GenerateRequest; output: Decoded }
  replug: { input: ReplugRequest; output: Decoded }
  score: { input: ScoreRequest; output: readonly (readonly number[])[] }
  /** Vectors of all texts, one after the other. */
  embed: { input: readonly string[]; output: Float32Array }
}
export type TaskName = keyof Tasks
export type Output<Name extends TaskName> = Tasks[Name]['output']

/**
 * Awaited between the steps of a task: lets messages and other tasks in.
 * @throws client_closed where the task is no longer wanted
 */
export type Step = () => Promise<void>

/** What a process does of the tasks. */
export type TaskHandlers = { readonly [Name in TaskName]?: (input: Tasks[Name]['input'], step: Step) => Promise<Output<Name>> }

export type Job = { readonly [Name in TaskName]: { readonly task: Name; readonly input: Tasks[Name]['input'] } }[TaskName]

export type ParentMessage =
  | { readonly kind: 'start'; readonly options: ChildOptions }
  | { readonly kind: 'run'; readonly id: number; readonly job: Job }
  /** The run is no longer wanted: it ends at its next step. */
  | { readonly kind: 'cancel'; readonly id: number }
  | { readonly kind: 'ping' }

export type ChildMessage =
  | { readonly kind: 'ready'; readonly rssBytes: number }
  | { readonly kind: 'refused'; readonly error: WireError }
  | { readonly kind: 'done'; readonly id: number; readonly output: unknown; readonly rssBytes: number }
  | { readonly kind: 'failed'; readonly id: number; readonly error: WireError; readonly rssBytes: number }
  /** Answers a ping: the process's thread turns. */
  | { readonly kind: 'pong' }
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

export function fromWire({ code, message, details }: WireError): CodedError {
  return new CodedError(isErrorCode(code) ? code : 'inference_failed', message, details)
}
