import { InferenceSession, Tensor, env } from 'onnxruntime-node'
import { AppError, messageOf } from '../errors.ts'

export type { Tensor }
export type Feeds = Readonly<Record<string, Tensor>>

/** Where graphs run. CUDA needs onnxruntime-node's CUDA libraries installed. */
export type Provider = { readonly name: 'cpu' } | { readonly name: 'cuda'; readonly deviceId: number }

export interface GraphOptions {
  /** Threads of one operator. */
  readonly threads: number
  readonly provider: Provider
  /** Entries of ONNX Runtime's session configuration (onnxruntime_session_options_config_keys.h). */
  readonly config?: Readonly<Record<string, string>>
  /** Where to write the optimised graph. */
  readonly saveTo?: string
}

export interface Graph {
  /** Runs the graph, blocking the thread; `outputs` limits what is handed back. */
  run(feeds: Feeds, outputs?: readonly string[]): Promise<Feeds>
  release(): Promise<void>
}

/** Version of the runtime in use. */
export const runtimeVersion = (): string => env.versions.node ?? env.versions.common

/** Names under which ONNX Runtime reports that CUDA's libraries, driver or device are not to be had. */
const PROVIDER_PROBLEM = /cuda|cudnn|providers_shared|execution provider/i

/**
 * Loads a graph by path, so that external data beside it is memory-mapped.
 * Spinning is off: with several sessions on one machine, idle threads would burn the cores that others need.
 * @throws AppError model_invalid naming the file; provider_unavailable where CUDA is asked for and missing
 */
export const loadGraph = async (file: string, { threads, provider, config, saveTo }: GraphOptions): Promise<Graph> => {
  const session = await InferenceSession.create(file, {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    executionProviders: provider.name === 'cuda' ? [{ name: 'cuda', deviceId: provider.deviceId }, 'cpu'] : ['cpu'],
    extra: { session: { 'intra_op.allow_spinning': '0', ...config } },
    logSeverityLevel: 3,
    ...(saveTo === undefined ? {} : { optimizedModelFilePath: saveTo }),
  }).catch((error: unknown) => {
    if (provider.name === 'cuda' && PROVIDER_PROBLEM.test(messageOf(error))) {
      throw new AppError('provider_unavailable', `CUDA device ${provider.deviceId} cannot be used (${messageOf(error)}). Install the CUDA libraries of onnxruntime-node, or run on the CPU.`, {}, { cause: error })
    }
    throw new AppError('model_invalid', `Cannot load the graph ${file}: ${messageOf(error)}. Build the model again.`, { field: file }, { cause: error })
  })
  return {
    run: async (feeds, outputs) => (outputs === undefined ? session.run(feeds) : session.run(feeds, outputs)),
    release: () => session.release(),
  }
}

/** An int64 tensor of ids, masks or sizes. */
export const int64 = (values: readonly number[], dims: readonly number[]): Tensor =>
  new Tensor('int64', BigInt64Array.from(values, BigInt), dims)

export const float32 = (values: Float32Array, dims: readonly number[]): Tensor => new Tensor('float32', values, dims)

/** The named output as numbers. @throws AppError model_invalid where the graph has no such f32 output */
export const floats = (outputs: Feeds, name: string): Float32Array => {
  const data = outputs[name]?.data
  if (!(data instanceof Float32Array)) throw new AppError('model_invalid', `The graph gives no f32 output "${name}"; build the model again.`, { field: name })
  return data
}

/** The named int64 output as numbers. @throws AppError model_invalid where the graph has no such output */
export const integers = (outputs: Feeds, name: string): number[] => {
  const data = outputs[name]?.data
  if (!(data instanceof BigInt64Array)) throw new AppError('model_invalid', `The graph gives no int64 output "${name}"; build the model again.`, { field: name })
  return Array.from(data, Number)
}
