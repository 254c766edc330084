import { InferenceSession, Tensor, env } from '../../../../models/runtime.ts'
import { CodedError, invalidModel } from '../../../../base/errors.ts'
import { cudaUnusable, plainMessage } from '../../cuda/probe.ts'
import type { Provider } from '../../protocol.ts'

export type { Tensor }
export type Feeds = Readonly<Record<string, Tensor>>

export interface GraphOptions {
  readonly threads: number
  readonly provider: Provider
  /** Further options of ONNX Runtime, which take precedence. */
  readonly session?: InferenceSession.SessionOptions
  /**
   * Whether memory of CPU runs is kept for later runs. It is never released, so that a process keeps the size of its largest request.
   * Default true: for graphs whose runs are similar in size.
   */
  readonly arena?: boolean
  /** Whether ONNX Runtime may write why CUDA fails to standard error. Default false. */
  readonly verbose?: boolean
}

export interface Graph {
  readonly inputs: readonly string[]
  /** Runs the graph, blocking the thread. Keys and values that are not fed are empty. @param outputs names to fetch; default: all */
  run(feeds: Feeds, outputs?: readonly string[]): Promise<Feeds>
  /** Creates a tensor in the named input's type (keys and values are f16 in f16 builds) from little-endian bytes. */
  input(name: string, bytes: Uint8Array<ArrayBuffer>, dims: readonly number[]): Tensor
  release(): Promise<void>
}

export function runtimeVersion(): string {
  return env.versions.node ?? env.versions.common
}

/** Parts of error texts of a process without enough memory. */
const MEMORY_PROBLEM = /bad[_ ]alloc|allocate memory|out of memory/i
/** Parts of ONNX Runtime's error texts for missing CUDA libraries, driver or device. */
const PROVIDER_PROBLEM = /cuda|cudnn|providers_shared|execution provider/i

/**
 * Loads a graph by path, so that external data next to it is memory-mapped; a graph without weights may be passed as bytes. Spinning is off:
 * with several sessions on one machine, idle threads would use cores that others need.
 * @throws model_invalid naming the file; provider_unavailable if CUDA is requested and missing
 */
export async function loadGraph(
  model: string | Uint8Array,
  { threads, provider, session: further, arena = true, verbose = false }: GraphOptions,
): Promise<Graph> {
  const file = typeof model === 'string' ? model : 'made in memory'
  const options: InferenceSession.SessionOptions = {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    enableCpuMemArena: arena,
    graphOptimizationLevel: 'all',
    executionProviders: provider.name === 'cuda' ? [{ name: 'cuda', deviceId: provider.deviceId }, 'cpu'] : ['cpu'],
    extra: { session: { 'intra_op.allow_spinning': '0' } },
    logSeverityLevel: verbose ? 3 : 4,
    ...further,
  }
  // Its log of failures is coloured and of many lines.
  if (provider.name === 'cuda' && !verbose) env.logLevel = 'fatal'
  // Two calls: the runtime declares separate overloads.
  const loading = typeof model === 'string' ? InferenceSession.create(model, options) : InferenceSession.create(model, options)
  const session = await loading.catch(async (cause: unknown) => {
    const message = plainMessage(cause)
    if (provider.name === 'cuda' && PROVIDER_PROBLEM.test(message)) throw await cudaUnusable(provider.deviceId, cause)
    const details = { field: file, cause }
    if (MEMORY_PROBLEM.test(message))
      throw new CodedError('not_ready', `Cannot load the graph ${file}: out of memory (${message}).`, details)
    throw new CodedError('model_invalid', `Cannot load the graph ${file}: ${message}. Build the model again.`, details)
  })
  const empty = emptyCaches(session)
  return {
    inputs: session.inputNames,
    run: (feeds, outputs = session.outputNames) =>
      session.run({ ...empty, ...(provider.name === 'cuda' ? withKeys(feeds) : feeds) }, outputs).catch((error: unknown) => {
        throw new Error(plainMessage(error), { cause: error })
      }),
    input: (name, bytes, dims) => {
      const metadata = session.inputMetadata.find((input) => input.name === name)
      return floatTensor(metadata?.isTensor === true && metadata.type === 'float16', bytes, dims)
    },
    release: () => session.release(),
  }
}

function floatTensor(isHalf: boolean, { buffer }: Uint8Array<ArrayBuffer>, dims: readonly number[]): Tensor {
  return isHalf ? new Tensor('float16', new Uint16Array(buffer), dims) : new Tensor('float32', new Float32Array(buffer), dims)
}

/** Empty tensors for the inputs [1,kv_heads,tokens,head_dim] of a graph. */
function emptyCaches({ inputMetadata }: InferenceSession): Feeds {
  const caches = inputMetadata.flatMap((input) => {
    if (!input.isTensor || input.shape.length !== 4 || input.shape.filter((size) => typeof size === 'string').length !== 1) return []
    const dims = input.shape.map((size) => (typeof size === 'string' ? 0 : size))
    return [[input.name, floatTensor(input.type === 'float16', new Uint8Array(0), dims)] as const]
  })
  return Object.fromEntries(caches)
}

/**
 * CUDA's attention kernels fail without keys, so that empty encoder states become a row of zeros. The output is the same: its value is 0
 * (cross-attention has no biases).
 */
function withKeys(feeds: Feeds): Feeds {
  const [rows, width = 0] = feeds.phi?.dims ?? []
  return rows === 0 ? { ...feeds, phi: float32(new Float32Array(width), [1, width]) } : feeds
}

/**
 * Runs a model once on a device when it is loaded: ONNX Runtime loads parts of CUDA, such as cuDNN, only when an operator needs them.
 * @throws provider_unavailable
 */
export async function firstRun(provider: Provider, run: () => Promise<unknown>): Promise<void> {
  if (provider.name === 'cuda') await run().catch(async (error: unknown) => Promise.reject(await cudaUnusable(provider.deviceId, error)))
}

export function int64(values: readonly number[], dims: readonly number[]): Tensor {
  return new Tensor('int64', BigInt64Array.from(values, BigInt), dims)
}

export function float32(values: Float32Array, dims: readonly number[]): Tensor {
  return new Tensor('float32', values, dims)
}

/** A vector of f16 bit patterns. */
export function float16(values: Uint16Array): Tensor {
  return new Tensor('float16', values, [values.length])
}

/** A float tensor's bytes, as a view. */
export function bytesOf({ data }: Tensor): Uint8Array {
  if (!ArrayBuffer.isView(data)) throw new TypeError('This is a bug: only numeric tensors have bytes.')
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
}

/** The named f32 output. @throws model_invalid if the graph has no such output */
export function floats(outputs: Feeds, name: string): Float32Array {
  return dataOf(outputs, name, 'f32', Float32Array)
}

/** The named f16 output as bit patterns. @throws model_invalid if the graph has no such output */
export function halves(outputs: Feeds, name: string): Uint16Array {
  return dataOf(outputs, name, 'f16', Uint16Array)
}

/** The named int64 output as numbers. @throws model_invalid if the graph has no such output */
export function integers(outputs: Feeds, name: string): number[] {
  return Array.from(dataOf(outputs, name, 'int64', BigInt64Array), Number)
}

function dataOf<Data>(outputs: Feeds, name: string, type: string, kind: new () => Data): Data {
  const data: unknown = outputs[name]?.data
  if (data instanceof kind) return data
  throw invalidModel(name, `The graph gives no ${type} output "${name}"; build the model again.`)
}

/** A finite log-probability or component of a vector. @throws inference_failed otherwise: an answer computed from NaN looks like any other */
export function checkNumber(value: number | undefined): number {
  if (value !== undefined && Number.isFinite(value)) return value
  const message = `The model gave ${value} where a number must be. Check its files and its precision with cepe verify.`
  throw new CodedError('inference_failed', message)
}

/** Pads rows of ids on the right to one batch. @returns input_ids and attention_mask, int64 [rows, longest] */
export function padRight(rows: readonly (readonly number[])[], padId: number) {
  const longest = Math.max(0, ...rows.map((row) => row.length))
  const columns = Array.from({ length: longest }, (_, column) => column)
  const ids = rows.flatMap((row) => columns.map((column) => row[column] ?? padId))
  const mask = rows.flatMap((row) => columns.map((column) => (column < row.length ? 1 : 0)))
  const dims = [rows.length, longest]
  return { input_ids: int64(ids, dims), attention_mask: int64(mask, dims) }
}
