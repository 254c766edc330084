import { runsOnCuda } from '../../../../models/dtypes.ts'
import type { ModelManifest } from '../../../../models/manifest.ts'
import { CodedError } from '../../../../base/errors.ts'
import { outputOf } from '../../cuda/parts.ts'
import type { ProcessOptions } from './process-options.ts'

/** CUDA context, cuDNN and cuBLAS workspaces, activations of a full window: memory of a process without the weights. */
const OVERHEAD_BYTES = 2 * 2 ** 30
const GIB = 2 ** 30

/**
 * Bytes of device memory that `processes` processes with this model take, about: the weights as stored, once per process, and a fixed overhead each.
 * Encoder states and KV caches are small in comparison (2 KiB a context token and 0.5 MiB a prompt token for LLaMA-2-7B in f16).
 */
function estimateDeviceBytes(manifest: ModelManifest, processes: number): number {
  return processes * (manifest.files.reduce((sum, { bytes }) => sum + bytes, 0) + OVERHEAD_BYTES)
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
export async function checkDevice(
  manifest: ModelManifest,
  { provider, children = 1 }: Pick<ProcessOptions, 'provider' | 'children'>,
): Promise<number | undefined> {
  if (provider?.name !== 'cuda') return undefined
  const { architecture, dtype, source } = manifest
  if (!runsOnCuda(architecture, dtype))
    throw new CodedError(
      'config_invalid',
      `${source.name} is a build in ${dtype}, whose operators CUDA leaves to the CPU: build it with --dtype f16 or f16-int4, or set CEPE_PROVIDER=cpu.`,
      { field: 'CEPE_PROVIDER' },
    )
  const free = await freeDeviceBytes(provider.deviceId)
  const needed = estimateDeviceBytes(manifest, children)
  if (free === undefined) return undefined
  if (free >= needed) return free - needed
  throw new CodedError(
    'provider_unavailable',
    `CUDA device ${provider.deviceId} has ${(free / GIB).toFixed(1)} GiB free, the model needs about ${(needed / GIB).toFixed(1)} GiB: build it as f16-int4, run fewer processes, or choose another device.`,
  )
}
