/**
 * Puts ONNX Runtime's CUDA provider beside onnxruntime-node's own libraries, in the version of that package.
 *
 *   node setup-cuda.js              for CUDA 12: onnxruntime-node's install step, which downloads it from NuGet
 *   node setup-cuda.js --wheel      for CUDA 13: out of PyPI's wheel onnxruntime-gpu, downloaded by pip
 *   node setup-cuda.js --wheel FILE likewise, out of a wheel that is already here
 */
import { spawnSync } from 'node:child_process'
import { cpSync, createWriteStream, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, delimiter, join, relative } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'

const require = createRequire(import.meta.url)
const packageDir = join(require.resolve('onnxruntime-node'), '../..')
const { version } = require(join(packageDir, 'package.json'))
const BIN = 'bin/napi-v6/linux/x64'
const FILES = ['libonnxruntime_providers_cuda.so', 'libonnxruntime_providers_shared.so']

/** A problem with its remedy. */
class Refusal extends Error {}

function say(what, files) {
  process.stdout.write(`Fetching ${what} into ${relative('.', join(packageDir, BIN))}:\n${files.map((name) => `  ${name}\n`).join('')}`)
}

/**
 * Runs the install step on a copy of its scripts, which writes beside them: it copies over libraries in use, and ends with 0 when its
 * connection breaks.
 */
function downloadCuda12(scratch) {
  const metadata = require(join(packageDir, 'script/install-metadata.js'))
  const manifest = Object.entries(metadata.manifests['linux/x64:cuda12'])
  const names = [...new Set(manifest.map(([, file]) => metadata.packages[file.package].name))]
  const files = manifest.map(([name]) => basename(name))
  say(`ONNX Runtime ${version} for CUDA 12 (${names.join(', ')} from ${metadata.feeds.nuget.index}, some 200 MB)`, files)
  cpSync(join(packageDir, 'script'), join(scratch, 'script'), { recursive: true })
  const modules = [join(packageDir, 'node_modules'), join(packageDir, '..')].join(delimiter)
  const env = { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'cuda12', NODE_PATH: modules, TMPDIR: scratch }
  const { status } = spawnSync(process.execPath, [join(scratch, 'script/install.js')], { env, stdio: 'inherit' })
  const found = (name) => statSync(join(scratch, BIN, name), { throwIfNoEntry: false })?.size > 0
  if (status !== 0 || !files.every(found))
    throw new Refusal('the download failed. Try again, or without that address: npm run setup:cuda13, which needs CUDA 13.')
  return files
}

/** The wheel's path, downloaded by pip into `scratch`. */
function downloadWheel(scratch) {
  const platforms = ['manylinux_2_28_x86_64', 'manylinux_2_27_x86_64'].flatMap((name) => ['--platform', name])
  const options = ['--no-deps', '--only-binary=:all:', '--implementation', 'cp', '--python-version', '3.12', ...platforms]
  const args = ['-m', 'pip', 'download', '-q', ...options, '-d', scratch, `onnxruntime-gpu==${version}`]
  const { status } = spawnSync('python3', args, { env: { ...process.env, TMPDIR: scratch }, stdio: 'inherit' })
  const wheel = readdirSync(scratch).find((name) => name.endsWith('.whl'))
  if (status !== 0 || wheel === undefined)
    throw new Refusal(
      `python3 -m pip did not download onnxruntime-gpu ${version}. Download that wheel for Linux x86-64 elsewhere, and name it: npm run setup:cuda13 -- <file>`,
    )
  return join(scratch, wheel)
}

/** Writes the libraries of a wheel into a folder, and checks their checksums. */
async function extract(wheel, folder) {
  const unreadable = (error) => new Refusal(`${wheel} is no readable wheel (${error.message}): download it again.`)
  const { open } = require('yauzl')
  const zip = await promisify(open)(wheel, { lazyEntries: true, autoClose: false }).catch((error) => {
    throw unreadable(error)
  })
  const left = new Set(FILES)
  await new Promise((resolve, reject) => {
    const failed = (error) => reject(error.syscall === undefined ? unreadable(error) : error)
    zip.on('error', failed).on('end', resolve)
    zip.on('entry', (entry) => {
      const name = FILES.find((file) => entry.fileName === `onnxruntime/capi/${file}`)
      if (name === undefined) return zip.readEntry()
      zip.openReadStream(entry, (error, stream) => {
        if (error) return failed(error)
        let sum = 0
        const summed = new Transform({
          transform(chunk, _, done) {
            sum = crc32(chunk, sum)
            done(null, chunk)
          },
        })
        pipeline(stream, summed, createWriteStream(join(folder, name), { mode: 0o755 })).then(() => {
          if (sum !== entry.crc32) return failed(new Error(`the checksum of ${name} differs`))
          left.delete(name)
          zip.readEntry()
        }, failed)
      })
    })
    zip.readEntry()
  }).finally(() => zip.close())
  if (left.size > 0) throw new Refusal(`${wheel} holds no ${[...left].join(', ')}: it is not the wheel onnxruntime-gpu for Linux.`)
}

async function setupWheel(scratch, given) {
  const name = given === undefined ? undefined : basename(given)
  if (name !== undefined && !(name.startsWith(`onnxruntime_gpu-${version}-`) && name.endsWith('_x86_64.whl')))
    throw new Refusal(
      `${given} is not onnxruntime_gpu-${version}-...-manylinux..._x86_64.whl: the provider must have the version of onnxruntime-node.`,
    )
  say(`ONNX Runtime ${version} for CUDA 13 (${given ?? `onnxruntime-gpu ${version} from PyPI, some 250 MB`})`, FILES)
  mkdirSync(join(scratch, BIN), { recursive: true })
  await extract(given ?? downloadWheel(scratch), join(scratch, BIN))
  return FILES
}

async function setup([mode, file]) {
  if (`${process.platform} ${process.arch}` !== 'linux x64') throw new Refusal('CUDA needs Linux x86-64.')
  if (mode !== undefined && mode !== '--wheel') throw new Refusal(`unknown option ${mode}: give none, or --wheel [file].`)
  if (!existsSync(join(packageDir, BIN))) throw new Refusal(`onnxruntime-node ${version} has no ${BIN}: run npm install.`)
  for (const name of readdirSync(packageDir).filter((one) => one.startsWith('.setup-'))) rmSync(join(packageDir, name), { recursive: true })
  // In the package's own file system: libraries are complete when they take the place of those that a running service has loaded
  const scratch = mkdtempSync(join(packageDir, '.setup-'))
  try {
    const files = mode === undefined ? downloadCuda12(scratch) : await setupWheel(scratch, file)
    for (const name of files) renameSync(join(scratch, BIN, name), join(packageDir, BIN, name))
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

await setup(process.argv.slice(2)).then(
  () => process.stdout.write('Done. `npx cepe doctor` says what else CUDA needs.\n'),
  (error) => {
    const written = `${relative('.', packageDir)} could not be written (${error.code}): make room there, or run this as its owner.`
    process.stderr.write(`setup: ${error instanceof Refusal || error.syscall === undefined ? error.message : written}\n`)
    process.exitCode = 1
  },
)
