import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { ModelManifest } from '../../../../models/manifest.ts'
import { CodedError } from '../../../../base/errors.ts'

/** CUDA context, cuDNN and cuBLAS workspaces, activations of a full window: memory of a process beside weights. */
const OVERHEAD_BYTES = 2 * 2 ** 30
const GIB = 2 ** 30

/**
 * Bytes of device memory that `processes` processes with this model take, about: the weights as stored, once per process, and a fixed overhead each.
 * Encoder states and KV caches are small beside them (2 KiB a context token and 0.5 MiB a prompt token for LLaMA-2-7B in f16).
 */
export function estimateDeviceBytes(manifest: ModelManifest, processes: number): number {
  return processes * (manifest.files.reduce((sum, { bytes }) => sum + bytes, 0) + OVERHEAD_BYTES)
}

/** Free bytes of a CUDA device from `nvidia-smi`; undefined if the tool is missing. */
export async function freeDeviceBytes(deviceId: number): Promise<number | undefined> {
  try {
    const { stdout } = await promisify(execFile)('nvidia-smi', [
      `--id=${deviceId}`,
      '--query-gpu=memory.free',
      '--format=csv,noheader,nounits',
    ])
    const mebibytes = Number.parseInt(stdout, 10)
    return Number.isNaN(mebibytes) ? undefined : mebibytes * 2 ** 20
  } catch {
    return undefined
  }
}

/** @throws provider_unavailable if the device has too little free memory, instead of a crash while loading */
export async function checkDeviceMemory(manifest: ModelManifest, processes: number, deviceId: number): Promise<void> {
  const free = await freeDeviceBytes(deviceId)
  const needed = estimateDeviceBytes(manifest, processes)
  if (free === undefined || free >= needed) return
  throw new CodedError(
    'provider_unavailable',
    `CUDA device ${deviceId} has ${(free / GIB).toFixed(1)} GiB free, the model needs about ${(needed / GIB).toFixed(1)} GiB: build it as f16-int4, run fewer processes, or choose another device.`,
  )
}
