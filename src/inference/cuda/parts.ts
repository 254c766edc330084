import { execFile } from 'node:child_process'
import { open, readdir, readFile, realpath } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { promisify } from 'node:util'

/** One thing that CUDA needs on this machine. */
export interface CudaPart {
  readonly name: string
  /** Version and place of what was found; empty for nothing. */
  readonly found: string
  /** What is wrong, and the remedy. */
  readonly problem?: string | undefined
}

/** ONNX Runtime loads cuDNN by these names, in this order, when the first operator needs it. */
const CUDNN = ['libcudnn.so.9', 'libcudnn.so']
const CUBLAS = ['libcublas.so.13', 'libcublas.so.12']
const DRIVER = 'libcuda.so.1'
/** First driver of a CUDA version, by NVIDIA's release notes. */
const FIRST_DRIVER = new Map(Object.entries({ 12: 525, 13: 580 }))
const NAMES: Readonly<Record<string, string>> = {
  libcudart: 'CUDA runtime',
  libcublas: 'cuBLAS',
  libcublasLt: 'cuBLASLt',
  libcurand: 'cuRAND',
  libcufft: 'cuFFT',
  libcudnn: 'cuDNN',
}
/** The names of linked libraries stand near the front of a library's file. */
const FRONT_BYTES = 2 ** 20

interface CudaMachine {
  /** Folder of the provider's files. Default: that of onnxruntime-node's libraries, where ONNX Runtime looks. */
  readonly folder?: string
  readonly env?: NodeJS.ProcessEnv
  readonly platform?: string
  readonly toolkits?: string
}

/**
 * Looks for everything that CUDA needs, where the dynamic loader looks, and loads nothing: ONNX Runtime's provider, the driver, CUDA's libraries
 * in the version that the provider is linked with, and cuDNN.
 */
export async function cudaParts(machine: CudaMachine = {}): Promise<CudaPart[]> {
  const { platform = `${process.platform} ${process.arch}`, toolkits = '/usr/local' } = machine
  if (platform !== 'linux x64') return [{ name: 'platform', found: platform, problem: 'CUDA needs Linux x86-64.' }]
  const folder = machine.folder ?? path.join(createRequire(import.meta.url).resolve('onnxruntime-node'), '../../bin/napi-v6/linux/x64')
  const [linked, shared] = await Promise.all(
    ['cuda', 'shared'].map((name) => linkedLibraries(path.join(folder, `libonnxruntime_providers_${name}.so`))),
  )
  const env = machine.env ?? (await startEnvironment())
  const libraries = await reachable(env)
  const built = versionOf(linked?.find((name) => CUBLAS.includes(name)))
  // Without a provider, the version that is there decides which one to fetch.
  const cuda = built || versionOf(CUBLAS.find((name) => libraries.has(name)))
  const installed = (await entriesOf(toolkits)).filter((name) => name.startsWith('cuda'))
  const aside = await librariesIn(installed.flatMap((name) => ['lib64', 'lib'].map((lib) => path.join(toolkits, name, lib))))
  const wanted = built ? (linked ?? []) : [`libcudart.so.${cuda || '12'}`, `libcublas.so.${cuda || '12'}`]
  const cudaFiles = wanted.filter((name) => stemOf(name) in NAMES && !CUDNN.includes(name)).map((name) => [name])
  const missing = linked === undefined ? 'cuda' : shared === undefined ? 'shared' : undefined
  const fetching = cuda
    ? `npm run setup:cuda${cuda === '13' ? '13' : ''}`
    : 'npm run setup:cuda (CUDA 12) or npm run setup:cuda13 (CUDA 13)'
  const problem = missing
    ? `libonnxruntime_providers_${missing}.so is not next to onnxruntime-node's libraries: run ${fetching}.`
    : built
      ? undefined
      : `libonnxruntime_providers_cuda.so is damaged: run ${fetching}.`
  return [
    { name: 'platform', found: platform },
    { name: 'provider', found: built && `for CUDA ${built}`, problem },
    await driverPart(cuda, libraries, env),
    ...(await Promise.all([...cudaFiles, CUDNN].map((files) => libraryPart(files, cuda || '12 or 13', libraries, aside)))),
  ]
}

async function driverPart(cuda: string, libraries: ReadonlyMap<string, string>, env: NodeJS.ProcessEnv): Promise<CudaPart> {
  const least = FIRST_DRIVER.get(cuda) ?? 0
  const wanted = `NVIDIA's driver${least > 0 ? ` ${least} or newer` : ''}`
  const devices = (
    await outputOf('nvidia-smi', ['--query-gpu=index,name,memory.total,driver_version', '--format=csv,noheader'], env)
  )?.trim()
  const isOld = Number(/(\d+)[\d.]*$/.exec(devices ?? '')?.[1]) < least
  const problem = !libraries.has(DRIVER)
    ? `${DRIVER} is not on the library path: install ${wanted}.`
    : devices === undefined
      ? `nvidia-smi finds no device: load ${wanted}, and give the process or container access to the GPU.`
      : isOld
        ? `It is too old for CUDA ${cuda}: install ${wanted}.`
        : undefined
  return { name: 'driver', found: devices?.replaceAll('\n', '; ') ?? '', problem }
}

async function libraryPart(
  files: readonly string[],
  cuda: string,
  libraries: ReadonlyMap<string, string>,
  aside: ReadonlyMap<string, string>,
): Promise<CudaPart> {
  const [file = ''] = files
  const stem = stemOf(file)
  const name = NAMES[stem] ?? stem
  const [place = '', unreached] = [libraries, aside].map((known) => files.map((one) => known.get(one)).find((one) => one !== undefined))
  // A link may lead nowhere.
  const target = await realpath(place || '/nowhere').catch(() => undefined)
  if (target !== undefined) return { name, found: `${versionOf(target)} ${place}`.trim() }
  const other = [...libraries.keys()].find((one) => one.startsWith(`${stem}.so.`) && !files.includes(one))
  const remedy = unreached
    ? `name ${path.dirname(unreached)} in LD_LIBRARY_PATH`
    : `install ${name}${stem === 'libcudnn' ? ' 9 for' : ' of'} CUDA ${cuda}, and name its folder in LD_LIBRARY_PATH unless the loader knows it`
  return { name, found: '', problem: `${file} is not on the library path${other === undefined ? '' : ` (${other} is)`}: ${remedy}.` }
}

/** The environment that this process was started with, which the loader reads. */
async function startEnvironment(): Promise<NodeJS.ProcessEnv> {
  const lines = (await readFile('/proc/self/environ', 'utf8')).split('\0')
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const))
}

/** Standard output of a program; undefined if it is missing or fails. */
export async function outputOf(program: string, options: readonly string[], env?: NodeJS.ProcessEnv): Promise<string | undefined> {
  const done = await promisify(execFile)(program, options, { encoding: 'utf8', ...(env && { env }) }).catch(() => undefined)
  return done?.stdout
}

/** Names of libraries in a library's front; undefined if the file is missing. */
async function linkedLibraries(file: string): Promise<string[] | undefined> {
  await using handle = await open(file).catch(() => undefined)
  if (!handle) return undefined
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(FRONT_BYTES))
  return [...new Set(buffer.toString('latin1', 0, bytesRead).match(/(?<=\0)lib\w+\.so\.\d+(?=\0)/g))]
}

/** Path of every library that the loader finds by name: first in LD_LIBRARY_PATH, then in its cache. */
async function reachable(env: NodeJS.ProcessEnv): Promise<ReadonlyMap<string, string>> {
  const cache = (await outputOf('ldconfig', ['-p'], env)) ?? (await outputOf('/sbin/ldconfig', ['-p'])) ?? ''
  const cached = [...cache.matchAll(/^\s*(\S+) \(.*x86-64.*\) => (\S+)$/gm)].map(([, name = '', place = '']) => [name, place] as const)
  const { LD_LIBRARY_PATH: named = '' } = env
  return new Map([...cached.reverse(), ...(await librariesIn(named.split(/[:;]/).filter((dir) => dir !== '')))])
}

/** Libraries of folders by name; the first folder counts. */
async function librariesIn(dirs: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = await Promise.all(dirs.map(async (dir) => (await entriesOf(dir)).map((name) => [name, path.join(dir, name)] as const)))
  return new Map(found.reverse().flat())
}

function entriesOf(dir: string): Promise<string[]> {
  return readdir(dir).catch(() => [])
}

/** `libcublas` of libcublas.so.13. */
function stemOf(name: string): string {
  return name.replace(/\.so.*$/, '')
}

/** `13` of libcublas.so.13. */
function versionOf(name = ''): string {
  return /\.so\.([\d.]+)$/.exec(name)?.[1] ?? ''
}
