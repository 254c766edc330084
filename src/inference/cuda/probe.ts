import { execFile, type ExecFileException } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify, stripVTControlCharacters } from 'node:util'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { cudaParts } from './parts.ts'

/** Time for the driver to start on a machine with many devices. */
const PROBE_MS = 120_000
const MEMORY_PROBLEM = /out of memory|failed to allocate/i

/**
 * Runs a small graph on a device (a product, an attention that needs cuDNN) in a process that then ends, so that this one keeps no device
 * memory and survives a crash of the driver.
 * @throws provider_unavailable naming what is missing and the remedy
 */
export async function probeCuda(deviceId: number): Promise<void> {
  const file = fileURLToPath(new URL('../worker/runtime/probe-cuda.js', import.meta.url))
  try {
    await promisify(execFile)(process.execPath, [file, String(deviceId)], { timeout: PROBE_MS })
  } catch (thrown) {
    const { stdout, stderr = '', signal } = thrown as ExecFileException
    // The reason why a library cannot be loaded is in ONNX Runtime's log alone.
    const [, reason] = /with error: (.*)/.exec(stripVTControlCharacters(stderr)) ?? []
    throw await cudaUnusable(deviceId, new Error(reason ?? (stdout || `the test process ended by ${signal ?? 'itself'}`)))
  }
}

/** The error of a CUDA device that failed: the part that is missing, else what ONNX Runtime says. */
export async function cudaUnusable(deviceId: number, cause: unknown): Promise<CodedError> {
  const message = plainMessage(cause)
  const [problem] = (await cudaParts()).flatMap((part) => part.problem ?? [])
  const remedy = MEMORY_PROBLEM.test(message)
    ? 'Free memory of the device, build the model as f16-int4, run fewer processes, or choose another CEPE_DEVICE_ID.'
    : '`cepe doctor` lists what CUDA needs, and CEPE_PROVIDER=cpu runs on the CPU.'
  return new CodedError('provider_unavailable', `CUDA device ${deviceId} cannot be used: ${problem ?? `${message}.`} ${remedy}`, { cause })
}

/** ONNX Runtime's message without colours, line breaks, its source files and the machine's name. */
export function plainMessage(thrown: unknown): string {
  return stripVTControlCharacters(messageOf(thrown))
    .replace(/\s+/g, ' ')
    .replace(/\/onnxruntime_src\/.*?\[ONNXRuntimeError\] : \d+ : \w+ : /g, '')
    .replace(/ ; GPU=\d+ ; hostname=.*$/, '')
    .replace(/[\s.]+$/, '')
}
