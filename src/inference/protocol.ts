import { sum } from '../../base/at.ts'
import { CodedError, messageOf, type ErrorDetails } from '../../base/errors.ts'
import type { TaskName, Tasks } from './contract.ts'
import type { Log } from './log.ts'

/** Execution provider. CUDA needs onnxruntime-node's CUDA libraries. */
export type Provider = { readonly name: 'cpu' } | { readonly name: 'cuda'; readonly deviceId: number }

/**
 * Messages between the service and its inference processes (structured clone: typed arrays cross as bytes).
 * Both ends are this program, started by it, so messages are typed but not validated.
 */

export interface CommonChildOptions {
  readonly modelDir: string
  readonly threads: number
  readonly provider: Provider
  /** Folder for graphs with prepacked weights, shared by processes; null loads the graphs as built. */
  readonly prepackDir: string | null
}

export type StateDtype = 'f16' | 'f32'

export interface ReaderChildOptions extends CommonChildOptions {
  readonly role: 'reader'
  /** Padded tokens per encoder run. */
  readonly batchTokens: number
  /** Prompt tokens per run of the step graph: for scoring, sampling and RePlug. */
  readonly prefillTokens: number
  /** Memory for keys and values of prompts; 0 for none. */
  readonly promptCacheBytes: number
  /** Memory for encoder states of passages; 0 for none. */
  readonly stateCacheBytes: number
  /** 'f16' also rounds fresh states. */
  readonly stateDtype: StateDtype
  /** Disk store of encoder states, shared by all processes; null for none. */
  readonly stateDisk: { readonly dir: string; readonly maxBytes: number } | null
  /** Memory for the keys and values of RePlug's prompts. */
  readonly replugBytes: number
}

export interface EncoderChildOptions extends CommonChildOptions {
  readonly role: 'embedder' | 'reranker'
  /** Padded tokens per run. */
  readonly batchTokens: number
}

export type ChildOptions = ReaderChildOptions | EncoderChildOptions

/** A result of the process, before the pool adds the time in the queue. */
type InChild<Result> = Result extends { readonly timingsMs: { readonly queue: number } }
  ? Omit<Result, 'timingsMs'> & { readonly timingsMs: Omit<Result['timingsMs'], 'queue'> }
  : Result
export type Output<Name extends TaskName> = InChild<Tasks[Name]['output']>

/** Awaited where a task may be interrupted: processes messages and other tasks. @throws client_closed if the task was cancelled */
export type YieldPoint = () => Promise<void>

/** A part of the text as it is generated, in order; `from`, the characters before it, identifies repeated parts of a retried run. */
interface Piece {
  readonly from: number
  readonly text: string
}
export type OnText = (piece: Piece) => void

/** Implementation of tasks; the text callback is set if the caller streams. */
export type TaskHandlers = {
  readonly [Name in TaskName]?: (input: Tasks[Name]['input'], yieldPoint: YieldPoint, onText?: OnText) => Promise<Output<Name>>
} & { readonly cacheCounts?: () => CacheCounts }

export type TaskCall = { readonly [Name in TaskName]: { readonly task: Name; readonly input: Tasks[Name]['input'] } }[TaskName]

export type ParentMessage =
  | { readonly kind: 'start'; readonly options: ChildOptions }
  /** `streamed`: the caller wants the text as it is generated. */
  | { readonly kind: 'run'; readonly id: number; readonly call: TaskCall; readonly streamed: boolean }
  /** Cancels the run at its next yield point. */
  | { readonly kind: 'cancel'; readonly id: number }
  | { readonly kind: 'ping' }

/** Counters of a state cache since its process started. */
export type CacheCounts = Readonly<Record<'hits' | 'misses' | 'bytes', number>>

export function totalCounts(caches: readonly CacheCounts[]): CacheCounts {
  const total = (name: keyof CacheCounts): number => sum(caches.map((cache) => cache[name]))
  return { hits: total('hits'), misses: total('misses'), bytes: total('bytes') }
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
  | { readonly kind: 'pong' }
  /** A graph starts or ends loading, which blocks answers to pings. */
  | { readonly kind: 'loading'; readonly loading: boolean }
  | { readonly kind: 'log'; readonly level: Parameters<Log>[0]; readonly message: string }

/** An error as it crosses the boundary: structured clone loses class and code. */
type WireError = Pick<CodedError, 'code' | 'message'> & ErrorDetails

/** Errors without a code become `inference_failed`. */
export function toWire(thrown: unknown): WireError {
  if (!(thrown instanceof CodedError)) return { code: 'inference_failed', message: messageOf(thrown) }
  const { code, message, field, retryAfterS } = thrown
  return { code, message, field, retryAfterS }
}

/** Restores an error of a child. */
export function fromWire({ code, message, ...details }: WireError): CodedError {
  return new CodedError(code, message, details)
}

/** File descriptor of the pipe on which the pulse thread of an inference process answers pings. */
export const PULSE_FD = 4
