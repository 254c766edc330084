import path from 'node:path'
import { CodedError, invalidConfig } from '../../../../base/errors.ts'
import { runsOnCuda } from '../../../../models/dtypes.ts'
import type { ModelManifest } from '../../../../models/manifest.ts'
import { outputOf } from '../../cuda/parts.ts'
import type { PoolOptions } from '../contract.ts'
import type { Pool } from '../pool.ts'
import type { CommonChildOptions, Provider } from '../../protocol.ts'

const DEFAULT_THREADS = 1
/** CUDA context, cuDNN and cuBLAS workspaces, activations of a full window: memory of a process without the weights. */
const OVERHEAD_BYTES = 2 * 2 ** 30
const GIB = 2 ** 30

/** Folder inside a built model's folder for graphs saved with prepacked weights. */
const PREPACK_FOLDER = '.prepacked'

export interface ProcessOptions extends Omit<PoolOptions, 'options'> {
  readonly modelDir: string
  /** Threads of each process. Default {@link DEFAULT_THREADS}. */
  readonly threads?: number
  readonly provider?: Provider
  /**
   * Save the weights once in the layout of this CPU and share them between processes: loading takes half the time, and each process holds
   * at most a fifth of the weights of its own, for 1.8 times the weights on disk per graph. Default: with more than one process.
   */
  readonly prepack?: boolean
}

export type Supervised = Pick<Pool, 'status' | 'close'>

/** Options of a child of any role, with absolute paths and defaults. */
export function commonChildOptions(options: ProcessOptions): CommonChildOptions {
  return {
    modelDir: path.resolve(options.modelDir),
    threads: options.threads ?? DEFAULT_THREADS,
    provider: options.provider ?? { name: 'cpu' },
    prepackDir: (options.prepack ?? (options.children ?? 1) > 1) ? path.resolve(options.modelDir, PREPACK_FOLDER) : null,
  }
}

/** Free bytes of a CUDA device from `nvidia-smi`; undefined if the tool is missing. */
async function freeDeviceBytes(deviceId: number): Promise<number | undefined> {
  const query = [`--id=${deviceId}`, '--query-gpu=memory.free', '--format=csv,noheader,nounits']
  const mebibytes = Number.parseInt((await outputOf('nvidia-smi', query)) ?? '', 10)
  return Number.isNaN(mebibytes) ? undefined : mebibytes * 2 ** 20
}

/**
 * Checks a model's precision and size for a CUDA device.
 * @returns the device's free bytes less those of the model; undefined on a CPU, or if unknown
 * @throws config_invalid for a precision that CUDA leaves to the CPU; provider_unavailable if the device has too little free memory, instead of
 * a crash while loading
 */
export async function checkDevice(manifest: ModelManifest, { provider, children = 1 }: Pick<ProcessOptions, 'provider' | 'children'>) {
  if (provider?.name !== 'cuda') return undefined
  const { architecture, dtype, source } = manifest
  const slow = `${source.name} is a build in ${dtype}, whose operators CUDA leaves to the CPU: build it with --dtype f16 or f16-int4, or set CEPE_PROVIDER=cpu.`
  if (!runsOnCuda(architecture, dtype)) throw invalidConfig('CEPE_PROVIDER', slow)
  const free = await freeDeviceBytes(provider.deviceId)
  // Encoder states and KV caches are small in comparison: 2 KiB a context token and 0.5 MiB a prompt token for LLaMA-2-7B in f16.
  const needed = children * (manifest.files.reduce((sum, { bytes }) => sum + bytes, 0) + OVERHEAD_BYTES)
  if (free === undefined) return undefined
  if (free >= needed) return free - needed
  const message = `CUDA device ${provider.deviceId} has ${(free / GIB).toFixed(1)} GiB free, the model needs about ${(needed / GIB).toFixed(1)} GiB: build it as f16-int4, run fewer processes, or choose another device.`
  throw new CodedError('provider_unavailable', message)
}
