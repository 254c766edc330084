import { execFile } from 'node:child_process'
import { copyFile, link, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { makeZip } from '../fixtures/zip.ts'
import { root } from '../helpers/root.ts'
import { SKIPS } from '../helpers/skips.ts'

const PACKAGE = 'node_modules/onnxruntime-node'
const BIN = `${PACKAGE}/bin/napi-v6/linux/x64`
const CUDA = 'libonnxruntime_providers_cuda.so'
const SHARED = 'libonnxruntime_providers_shared.so'
const METADATA = {
  manifests: { 'linux/x64:cuda12': { [`./${CUDA}`]: { package: 'gpu' }, [`./${SHARED}`]: { package: 'gpu' } } },
  packages: { gpu: { name: 'Vendor.Gpu' } },
  feeds: { nuget: { index: 'https://feed.example/index.json' } },
}

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Writes the libraries as the install step of onnxruntime-node does, beside its own folder. */
const WRITES = `const { mkdirSync, writeFileSync } = require('node:fs'); const bin = __dirname + '/../bin/napi-v6/linux/x64'
mkdirSync(bin, { recursive: true }); for (const name of ['${CUDA}', '${SHARED}']) writeFileSync(bin + '/' + name, 'new')`

/** A project with onnxruntime-node 9.8.7 and its install step. */
async function project(t: Test, install = WRITES): Promise<string> {
  const dir = t.testdir({})
  const pkg = path.join(dir, 'node_modules/onnxruntime-node')
  for (const folder of ['dist', 'script', 'bin/napi-v6/linux/x64']) await mkdir(path.join(pkg, folder), { recursive: true })
  await writeFile(path.join(pkg, 'package.json'), JSON.stringify({ name: 'onnxruntime-node', version: '9.8.7', main: 'dist/index.js' }))
  await writeFile(path.join(pkg, 'dist/index.js'), '')
  await writeFile(path.join(pkg, 'script/install-metadata.js'), `module.exports = ${JSON.stringify(METADATA)}`)
  await writeFile(path.join(pkg, 'script/install.js'), `console.log('asked for', process.env.ONNXRUNTIME_NODE_INSTALL); ${install}`)
  await symlink(path.join(root, 'node_modules/yauzl'), path.join(dir, 'node_modules/yauzl'))
  await writeFile(path.join(dir, 'package.json'), '{"type":"module"}')
  await copyFile(path.join(root, 'setup-cuda.js'), path.join(dir, 'setup-cuda.js'))
  return dir
}

function setup(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, ['setup-cuda.js', ...args], { cwd, env }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
  })
}

const skip = `${process.platform} ${process.arch}` !== 'linux x64' && SKIPS.linuxX64

await t.test('a wheel of the same version gives the two libraries, beside one that is in use', { skip }, async (t) => {
  const dir = await project(t)
  const wheel = path.join(dir, 'onnxruntime_gpu-9.8.7-cp312-cp312-manylinux_2_28_x86_64.whl')
  await writeFile(
    wheel,
    makeZip([
      { name: 'onnxruntime/capi/libonnxruntime_providers_tensorrt.so', content: 'other' },
      { name: `onnxruntime/capi/${CUDA}`, content: 'cuda' },
      { name: `onnxruntime/capi/${SHARED}`, content: 'shared' },
    ]),
  )
  await writeFile(path.join(dir, BIN, CUDA), 'older')
  await link(path.join(dir, BIN, CUDA), path.join(dir, 'in-use'))
  t.match(await setup(dir, ['--wheel', wheel]), {
    code: 0,
    stdout: new RegExp(`^Fetching ONNX Runtime 9\\.8\\.7 for CUDA 13 .*\\n  ${CUDA}\\n  ${SHARED}\\nDone\\. \`npx cepe doctor\``),
  })
  t.same((await readdir(path.join(dir, BIN))).sort(), [CUDA, SHARED])
  t.equal(await readFile(path.join(dir, BIN, CUDA), 'utf8'), 'cuda')
  t.equal(await readFile(path.join(dir, BIN, SHARED), 'utf8'), 'shared')
  t.equal(await readFile(path.join(dir, 'in-use'), 'utf8'), 'older', 'replaced, not written into')
})

await t.test('other wheels are refused with what they are, and nothing is written', { skip }, async (t) => {
  const dir = await project(t)
  const name = (version: string): string => path.join(dir, `onnxruntime_gpu-${version}-cp312-cp312-manylinux_2_28_x86_64.whl`)
  await writeFile(name('9.8.6'), makeZip([{ name: `onnxruntime/capi/${CUDA}`, content: 'cuda' }]))
  t.match(await setup(dir, ['--wheel', name('9.8.6')]), {
    code: 1,
    stderr: /9\.8\.6.* is not onnxruntime_gpu-9\.8\.7-.*must have the version/,
  })
  await writeFile(name('9.8.7'), 'cut off')
  t.match(await setup(dir, ['--wheel', name('9.8.7')]), { code: 1, stderr: /is no readable wheel/ })
  await writeFile(name('9.8.7'), makeZip([{ name: 'onnxruntime/capi/onnxruntime_providers_cuda.dll', content: 'windows' }]))
  t.match(await setup(dir, ['--wheel', name('9.8.7')]), { code: 1, stderr: new RegExp(`holds no ${CUDA}, ${SHARED}`) })
  const whole = makeZip([
    { name: `onnxruntime/capi/${CUDA}`, content: 'a library' },
    { name: `onnxruntime/capi/${SHARED}`, content: 'another' },
  ])
  const damaged = Buffer.from(whole)
  damaged.writeUInt32LE(1, damaged.indexOf('PK\x01\x02') + 16)
  await writeFile(name('9.8.7'), damaged)
  t.match(await setup(dir, ['--wheel', name('9.8.7')]), { code: 1, stderr: /no readable wheel \(.*checksum.*download it again/ })
  await writeFile(name('9.8.7'), makeZip([{ name: `onnxruntime/capi/${CUDA}`, content: 'cuda' }]))
  t.match(await setup(dir, ['--wheel', name('9.8.7')]), { code: 1, stderr: new RegExp(`holds no ${SHARED}`) })
  const arm = name('9.8.7').replace('x86_64', 'aarch64')
  await writeFile(arm, whole)
  t.match(await setup(dir, ['--wheel', arm]), { code: 1, stderr: /is not onnxruntime_gpu-9\.8\.7-/ })
  t.match(await setup(dir, ['--wheels']), { code: 1, stderr: /unknown option --wheels/ })
  t.same(await readdir(path.join(dir, BIN)), [])
  t.notOk(
    (await readdir(path.join(dir, PACKAGE))).some((one) => one.startsWith('.setup')),
    'nothing is left behind',
  )
})

await t.test("without pip the wheel's name is said, and where to give the file", { skip }, async (t) => {
  const dir = await project(t)
  const without = await setup(dir, ['--wheel'], { ...process.env, PATH: '/nowhere' })
  t.match(without, { code: 1, stderr: /did not download onnxruntime-gpu 9\.8\.7\. .*npm run setup:cuda13 -- <file>/ })
})

await t.test("onnxruntime-node's own step: what it fetches is named first, and a failed download has a remedy", { skip }, async (t) => {
  const names =
    /^Fetching ONNX Runtime 9\.8\.7 for CUDA 12 \(Vendor\.Gpu from https:\/\/feed\.example\/index\.json.*\n {2}libonnxruntime_providers_cuda\.so\n/
  const dir = await project(t)
  await writeFile(path.join(dir, BIN, CUDA), 'older')
  await link(path.join(dir, BIN, CUDA), path.join(dir, 'in-use'))
  t.match(await setup(dir, []), { code: 0, stdout: /^Fetching.*asked for cuda12.*Done\./s, stderr: '' })
  t.match(await setup(dir, []), { code: 0 }, 'a second time')
  t.equal(await readFile(path.join(dir, BIN, CUDA), 'utf8'), 'new')
  t.equal(await readFile(path.join(dir, 'in-use'), 'utf8'), 'older', 'replaced, not written into')
  for (const install of ['process.exit(1)', "new Promise(() => 'a broken connection')", `${WRITES.replaceAll("'new'", "''")}`]) {
    const other = await project(t, install)
    await writeFile(path.join(other, BIN, CUDA), 'older')
    t.match(await setup(other, []), { code: 1, stdout: names, stderr: /the download failed\. .*npm run setup:cuda13, which needs CUDA 13/ })
    t.same(await readdir(path.join(other, BIN)), [CUDA], 'what was there stays')
  }
})

await t.test('what cannot be written is named, with the remedy', { skip }, async (t) => {
  const dir = await project(t)
  await mkdir(path.join(dir, BIN, CUDA, 'occupied'), { recursive: true })
  t.match(await setup(dir, []), { code: 1, stderr: /^setup: node_modules.onnxruntime-node could not be written \(\w+\): make room there/ })
})
