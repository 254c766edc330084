import { chmod, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { cudaParts } from '../../src/inference/cuda/parts.ts'
import { plainMessage } from '../../src/inference/cuda/probe.ts'
import { runCli } from '../helpers/cli.ts'

const LIBRARIES = ['libcudart.so', 'libcublas.so', 'libcublasLt.so'] as const

/** What a machine has; libraries are empty files, the provider's file holds the names that it is linked with. */
interface Machine {
  readonly provider?: 12 | 13
  readonly libraries?: readonly string[]
  readonly toolkit?: readonly string[]
  /** Lines of nvidia-smi. */
  readonly devices?: string
}

async function machine(
  t: Test,
  { provider, libraries = [], toolkit = [], devices }: Machine,
): Promise<NonNullable<Parameters<typeof cudaParts>[0]>> {
  const root = t.testdir({ bin: {}, folder: {}, lib: {}, toolkits: { 'cuda-12.9': { lib64: {} } } })
  const write = (dir: string, names: readonly string[]) => Promise.all(names.map((name) => writeFile(path.join(root, dir, name), '')))
  await write('lib', libraries)
  await write('toolkits/cuda-12.9/lib64', toolkit)
  if (provider !== undefined) {
    const linked = [...LIBRARIES.map((name) => `${name}.${provider}`), 'libcurand.so.10', 'libcuda.so.1', 'libc.so.6']
    await writeFile(path.join(root, 'folder/libonnxruntime_providers_cuda.so'), `\x7fELF\0${linked.join('\0')}\0libcudart.so.11 is text\0`)
    await writeFile(path.join(root, 'folder/libonnxruntime_providers_shared.so'), '\x7fELF\0')
  }
  // The loader's cache of the machine that runs the tests does not count.
  await writeFile(path.join(root, 'bin/ldconfig'), '#!/bin/sh\n')
  await writeFile(path.join(root, 'bin/nvidia-smi'), `#!/bin/sh\n${devices === undefined ? 'exit 9' : `printf '${devices}'`}\n`)
  for (const name of ['ldconfig', 'nvidia-smi']) await chmod(path.join(root, 'bin', name), 0o755)
  const env = { PATH: `${path.join(root, 'bin')}:${process.env['PATH'] ?? ''}`, LD_LIBRARY_PATH: `/nowhere:${path.join(root, 'lib')}` }
  return { folder: path.join(root, 'folder'), toolkits: path.join(root, 'toolkits'), platform: 'linux x64', env }
}

const all = (cuda: 12 | 13): string[] => [...LIBRARIES.map((name) => `${name}.${cuda}`), 'libcurand.so.10', 'libcuda.so.1', 'libcudnn.so.9']
const device = (driver: string): string => `0, NVIDIA H100, 81559, ${driver}\\n`

/** Names of the parts, with their problems. */
async function problems(machine: Parameters<typeof cudaParts>[0]): Promise<Record<string, string>> {
  return Object.fromEntries((await cudaParts(machine)).flatMap(({ name, problem }) => (problem === undefined ? [] : [[name, problem]])))
}

await t.test('a complete machine has no problem, for either version of CUDA', async (t) => {
  for (const [cuda, driver] of [
    [12, '525.60.13'],
    [13, '580.65.06'],
  ] as const) {
    const complete = await machine(t, { provider: cuda, libraries: all(cuda), devices: device(driver) })
    t.same(await problems(complete), {})
    const parts = await cudaParts(complete)
    t.match(parts, [
      { name: 'platform', found: 'linux x64' },
      { name: 'provider', found: `for CUDA ${cuda}` },
      { name: 'driver', found: `0, NVIDIA H100, 81559, ${driver}` },
      { name: 'CUDA runtime', found: new RegExp(`^${cuda} .*/lib/libcudart\\.so\\.${cuda}$`) },
      { name: 'cuBLAS' },
      { name: 'cuBLASLt' },
      { name: 'cuRAND', found: /^10 / },
      { name: 'cuDNN', found: /^9 / },
    ])
    t.equal(parts.length, 8)
  }
})

await t.test('each missing part is named with its remedy, and no other one is', async (t) => {
  for (const [file, name, remedy] of [
    ['libcudart.so.13', 'CUDA runtime', /install CUDA runtime of CUDA 13, and name its folder in LD_LIBRARY_PATH/],
    ['libcublas.so.13', 'cuBLAS', /install cuBLAS of CUDA 13/],
    ['libcublasLt.so.13', 'cuBLASLt', /install cuBLASLt of CUDA 13/],
    ['libcurand.so.10', 'cuRAND', /install cuRAND of CUDA 13/],
    ['libcudnn.so.9', 'cuDNN', /install cuDNN 9 for CUDA 13/],
    ['libcuda.so.1', 'driver', /libcuda\.so\.1 is not on the library path: install NVIDIA's driver 580 or newer/],
  ] as const) {
    const libraries = all(13).filter((one) => one !== file)
    const found = await problems(await machine(t, { provider: 13, libraries, devices: device('580.1') }))
    t.match(found, { [name]: remedy })
    t.match(found[name], file)
    t.same(Object.keys(found), [name])
  }
})

await t.test('cuDNN by its other name, with its version by the link; a link to nowhere is missing', async (t) => {
  const libraries = [...all(12).filter((one) => one !== 'libcudnn.so.9'), 'libcudnn.so.9.10.2']
  const linked = await machine(t, { provider: 12, libraries, devices: device('570.1') })
  const lib = (linked.env?.['LD_LIBRARY_PATH'] ?? '').slice('/nowhere:'.length)
  await symlink('libcudnn.so.9.10.2', path.join(lib, 'libcudnn.so'))
  t.match((await cudaParts(linked)).at(-1), { name: 'cuDNN', found: /^9\.10\.2 .*libcudnn\.so$/, problem: undefined })
  await symlink('nowhere', path.join(lib, 'libcudnn.so.9'))
  t.match(await problems(linked), { cuDNN: /libcudnn\.so\.9 is not on the library path/ })
})

await t.test('libraries of another version, in a toolkit that the loader does not know, and a driver that is too old', async (t) => {
  const other = await machine(t, { provider: 12, libraries: all(13), devices: device('580.1') })
  t.match(await problems(other), {
    cuBLAS: /libcublas\.so\.12 is not on the library path \(libcublas\.so\.13 is\): install cuBLAS of CUDA 12/,
  })
  const aside = await machine(t, { provider: 12, libraries: [], toolkit: all(12), devices: device('580.1') })
  t.match(await problems(aside), { cuBLAS: /: name .*toolkits\/cuda-12\.9\/lib64 in LD_LIBRARY_PATH\.$/ })
  const old = await machine(t, { provider: 13, libraries: all(13), devices: device('570.1') })
  t.match(await problems(old), { driver: /too old for CUDA 13: install NVIDIA's driver 580 or newer/ })
  const hidden = await machine(t, { provider: 13, libraries: all(13) })
  t.match(await problems(hidden), { driver: /nvidia-smi finds no device: .*access to the GPU/ })
})

await t.test('without a provider, the CUDA that is there decides which one to fetch; a damaged one is named', async (t) => {
  const command = async (libraries: readonly string[]) =>
    (await problems(await machine(t, { libraries, devices: device('580.1') })))['provider']
  t.match(await command(all(13)), /libonnxruntime_providers_cuda\.so is not next to .*: run npm run setup:cuda13\.$/)
  t.match(await command(all(12)), /: run npm run setup:cuda\.$/)
  t.match(await command([]), /: run npm run setup:cuda \(CUDA 12\) or npm run setup:cuda13 \(CUDA 13\)\.$/)
  const half = await machine(t, { provider: 13, libraries: all(13), devices: device('580.1') })
  await writeFile(path.join(half.folder ?? '', 'libonnxruntime_providers_cuda.so'), '')
  t.match(await problems(half), { provider: /libonnxruntime_providers_cuda\.so is damaged: run npm run setup:cuda13/ })
})

await t.test('other systems are named at once', async (t) => {
  t.same(await cudaParts({ platform: 'darwin arm64' }), [{ name: 'platform', found: 'darwin arm64', problem: 'CUDA needs Linux x86-64.' }])
})

await t.test("ONNX Runtime's message without colours, line breaks, source files and the machine's name", (t) => {
  t.equal(
    plainMessage(
      new Error(
        "\x1b[1;31mNon-zero status code returned while running MultiHeadAttention node. Name:'/attn' Status Message: /onnxruntime_src/onnxruntime/core/providers/cuda/cuda_kernel.h:296 static cudnnContext* onnxruntime::cuda::CudaKernel::RequireCudnnHandle(cudnnHandle_t) [ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : cuDNN is unavailable or disabled\x1b[m\n",
      ),
    ),
    "Non-zero status code returned while running MultiHeadAttention node. Name:'/attn' Status Message: cuDNN is unavailable or disabled",
  )
  t.equal(
    plainMessage(
      new Error('CUDA failure 2: out of memory ; GPU=0 ; hostname=gpu-7 ; file=/onnxruntime_src/a.cc ; line=55 ; expr=cudaMalloc(p, n); '),
    ),
    'CUDA failure 2: out of memory',
  )
  t.end()
})

await t.test('cepe doctor: a line for each part, with exit code 1 where one is missing', async (t) => {
  const { code, stdout } = await runCli(['doctor'])
  const lines = stdout.trimEnd().split('\n')
  t.ok(
    lines.every((line) => /^(ok {5}|problem) /.test(line)),
    stdout,
  )
  t.equal(code, lines.some((line) => line.startsWith('problem')) ? 1 : 0)
})
