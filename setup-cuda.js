/**
 * Puts ONNX Runtime's CUDA provider beside onnxruntime-node's own libraries, in the version of that package.
 *
 *   node setup-cuda.js              for CUDA 12: onnxruntime-node's install step, which downloads it from NuGet
 *   node setup-cuda.js --wheel      for CUDA 13: out of PyPI's wheel onnxruntime-gpu, downloaded by pip
 *   node setup-cuda.js --wheel FILE likewise, out of a wheel that is already here
 */
import { spawnSync } from 'node:child_process'
import { createWriteStream, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'

const require = createRequire(import.meta.url)
const packageDir = join(require.resolve('onnxruntime-node'), '../..')
const { version } = require(join(packageDir, 'package.json'))
const folder = join(packageDir, 'bin/napi-v6/linux/x64')
const FILES = ['libonnxruntime_providers_cuda.so', 'libonnxruntime_providers_shared.so']

function end(message) {
  process.stderr.write(`setup: ${message}\n`)
  process.exit(1)
}

function say(what, files) {
  process.stdout.write(`Fetching ${what} into ${relative('.', folder)}:\n${files.map((name) => `  ${name}\n`).join('')}`)
}

function setupCuda12() {
  const metadata = require(join(packageDir, 'script/install-metadata.js'))
  const manifest = Object.entries(metadata.manifests['linux/x64:cuda12'])
  const names = [...new Set(manifest.map(([, file]) => metadata.packages[file.package].name))]
  say(`ONNX Runtime ${version} for CUDA 12 (${names.join(', ')} from ${metadata.feeds.nuget.index}, some 200 MB)`, manifest.map(([name]) => basename(name)))
  const env = { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'cuda12' }
  const { status } = spawnSync(process.execPath, [join(packageDir, 'script/install.js')], { env, stdio: 'inherit' })
  if (status !== 0) end('the download failed. Without that address: npm run setup:cuda13, which needs CUDA 13.')
}

/** The wheel's path, downloaded by pip into `scratch`. */
function downloaded(scratch) {
  const platforms = ['manylinux_2_28_x86_64', 'manylinux_2_27_x86_64'].flatMap((name) => ['--platform', name])
  const options = ['--no-deps', '--only-binary=:all:', '--implementation', 'cp', '--python-version', '3.12', ...platforms]
  const { status } = spawnSync('python3', ['-m', 'pip', 'download', '-q', ...options, '-d', scratch, `onnxruntime-gpu==${version}`], { stdio: 'inherit' })
  const wheel = readdirSync(scratch).find((name) => name.endsWith('.whl'))
  if (status !== 0 || wheel === undefined)
    end(`python3 -m pip did not download onnxruntime-gpu ${version}. Download that wheel for Linux x86-64 elsewhere, and name it: npm run setup:cuda13 -- <file>`)
  return join(scratch, wheel)
}

/** Extracts beside the target and renames, so that a running service keeps the library that it has loaded. */
async function extract(wheel) {
  const { open } = require('yauzl')
  const zip = await promisify(open)(wheel, { lazyEntries: true, autoClose: false }).catch((error) => end(`${wheel} is no readable wheel (${error.message}).`))
  const left = new Set(FILES)
  await new Promise((resolve, reject) => {
    zip.on('error', reject).on('end', resolve)
    zip.on('entry', (entry) => {
      const name = FILES.find((file) => entry.fileName === `onnxruntime/capi/${file}`)
      if (name === undefined) return zip.readEntry()
      const partial = join(folder, `${name}.partial`)
      zip.openReadStream(entry, (error, stream) => {
        if (error) return reject(error)
        pipeline(stream, createWriteStream(partial, { mode: 0o755 })).then(() => {
          renameSync(partial, join(folder, name))
          left.delete(name)
          zip.readEntry()
        }, reject)
      })
    })
    zip.readEntry()
  }).finally(() => zip.close())
  if (left.size > 0) end(`${wheel} holds no ${[...left].join(', ')}: it is not the wheel onnxruntime-gpu for Linux.`)
}

async function setupWheel(given) {
  if (given !== undefined && !basename(given).startsWith(`onnxruntime_gpu-${version}-`))
    end(`${given} is not onnxruntime_gpu-${version}-...-manylinux..._x86_64.whl: the provider must have the version of onnxruntime-node.`)
  say(`ONNX Runtime ${version} for CUDA 13 (${given ?? `onnxruntime-gpu ${version} from PyPI, some 250 MB`})`, FILES)
  const scratch = mkdtempSync(join(tmpdir(), 'cepe-setup-'))
  try {
    await extract(given ?? downloaded(scratch))
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

if (`${process.platform} ${process.arch}` !== 'linux x64') end('CUDA needs Linux x86-64.')
const [mode, file] = process.argv.slice(2)
if (mode === undefined) setupCuda12()
else if (mode === '--wheel') await setupWheel(file)
else end(`unknown option ${mode}: give none, or --wheel [file].`)
process.stdout.write('Done. `npx cepe doctor` says what else CUDA needs.\n')
