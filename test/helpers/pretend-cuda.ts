import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { root } from './root.ts'
import { SKIPS } from './skips.ts'

const exec = promisify(execFile)
const BIN = path.join(root, 'node_modules/onnxruntime-node/bin/napi-v6/linux/x64')
const PROVIDER = path.join(BIN, 'libonnxruntime_providers_cuda.so')

/** Functions that must do a little for a session to be made: memory is the host's, kernels are not run. */
const ACTING: Readonly<Record<string, string>> = {
  cudaGetDeviceCount: 'int cudaGetDeviceCount(int *n) { *n = 1; return 0; }',
  cudaGetDevice: 'int cudaGetDevice(int *n) { *n = 0; return 0; }',
  // Offsets of cudaDeviceProp: total memory, memory of a block, warp, threads, capability 9.0, processors.
  cudaGetDeviceProperties:
    'int cudaGetDeviceProperties(char *p, int d) { memset(p, 0, 900); *(size_t *)(p + 288) = 80ull << 30; *(size_t *)(p + 296) = 49152; *(int *)(p + 308) = 32; *(int *)(p + 320) = 1024; *(int *)(p + 360) = 9; *(int *)(p + 384) = 132; return 0; }',
  cudaMalloc: 'int cudaMalloc(void **p, size_t n) { *p = malloc(n + 1); return 0; }',
  cudaMallocHost: 'int cudaMallocHost(void **p, size_t n) { *p = malloc(n + 1); return 0; }',
  cudaHostAlloc: 'int cudaHostAlloc(void **p, size_t n, int f) { *p = malloc(n + 1); return 0; }',
  cudaFree: 'int cudaFree(void *p) { free(p); return 0; }',
  cudaFreeHost: 'int cudaFreeHost(void *p) { free(p); return 0; }',
  cudaMemcpy: 'int cudaMemcpy(void *d, void *s, size_t n, int k) { memcpy(d, s, n); return 0; }',
  cudaMemcpyAsync: 'int cudaMemcpyAsync(void *d, void *s, size_t n, int k, void *t) { memcpy(d, s, n); return 0; }',
  cudaMemset: 'int cudaMemset(void *d, int v, size_t n) { memset(d, v, n); return 0; }',
  cudaMemsetAsync: 'int cudaMemsetAsync(void *d, int v, size_t n, void *t) { memset(d, v, n); return 0; }',
  cudaMemGetInfo: 'int cudaMemGetInfo(size_t *a, size_t *b) { *a = *b = 80ull << 30; return 0; }',
  cudaDriverGetVersion: 'int cudaDriverGetVersion(int *v) { *v = 13000; return 0; }',
  cudaRuntimeGetVersion: 'int cudaRuntimeGetVersion(int *v) { *v = 13000; return 0; }',
  cudaDeviceGetAttribute:
    'int cudaDeviceGetAttribute(int *v, int a, int d) { *v = a == 75 ? 9 : a == 76 ? 0 : a == 16 ? 132 : 1; return 0; }',
  __cudaRegisterFatBinary: 'static void *handle; void **__cudaRegisterFatBinary(void *x) { return &handle; }',
}
/** Make a handle, or a text. */
const HANDLES = /^(cudaStreamCreate|cudaStreamCreateWithFlags|cudaEventCreate|cudaEventCreateWithFlags|cublasCreate_v2|cublasLtCreate)$/
const TEXTS = /^(cudaGetErrorString|cudaGetErrorName|cublasGetStatusName|cublasGetStatusString)$/

/** Why a provider's placement cannot be tested here; false if it can. */
export function withoutPretendCuda(): string | false {
  const dirs = (process.env['PATH'] ?? '').split(':')
  const isThere = existsSync(PROVIDER) && ['gcc', 'nm'].every((name) => dirs.some((dir) => existsSync(path.join(dir, name))))
  return !isThere && SKIPS.cudaProvider
}

/**
 * Compiles libraries that pretend to be CUDA, with every function that the installed provider asks them for, so that the real provider registers
 * its kernels and divides graphs on a machine without a GPU.
 * @returns value of LD_LIBRARY_PATH
 */
export async function pretendCuda(dir: string): Promise<string> {
  await mkdir(dir, { recursive: true })
  const { stdout } = await exec('nm', ['-D', '--undefined-only', PROVIDER], { maxBuffer: 2 ** 26 })
  const functions = new Map<string, string[]>([
    ['libcuda.so.1', ['cuTensorMapEncodeTiled']],
    ['libcurand.so.10', []],
  ])
  for (const [, name = '', library = ''] of stdout.matchAll(/ (\w+)@(libcu\w+\.so\.\d+)$/gm))
    functions.set(library, [...(functions.get(library) ?? []), name])
  for (const [library, names] of functions) {
    const file = path.join(dir, library)
    const isVersioned = library !== 'libcuda.so.1'
    await writeFile(`${file}.c`, ['#include <stdlib.h>', '#include <string.h>', ...names.map(pretended), ''].join('\n'))
    await writeFile(`${file}.map`, `${isVersioned ? library : ''} { global: *; };\n`)
    await exec('gcc', ['-shared', '-fPIC', '-w', '-o', file, `${file}.c`, `-Wl,-soname,${library}`, `-Wl,--version-script=${file}.map`])
  }
  return dir
}

function pretended(name: string): string {
  if (HANDLES.test(name)) return `int ${name}(void **p) { *p = malloc(8); return 0; }`
  if (TEXTS.test(name)) return `const char *${name}(int e) { return "pretended"; }`
  return ACTING[name] ?? `int ${name}() { return 0; }`
}
