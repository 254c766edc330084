/**
 * CEPE-LLaMA-2-7B's exact shape on this machine: writes a random checkpoint of it, builds the dtypes asked for, and has a reader process
 * answer: seconds by stage, resident memory, share of the machine's f32 limit. What it writes is removed.
 * Usage: 7b.js [--shape 7b|small] [--dtypes int4,int8,int8+int4] [--k 10,20] [--k-decoder 0,2,10] [--threads N] [--folder <dir>]
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { CodedError, messageOf } from '../../base/errors.ts'
import { DTYPES, type Dtype } from '../../models/manifest.ts'
import { machine, measureLimits } from './measure.ts'
import { stageLines } from './stages.ts'
import { buildShape, isShape, makeShape } from './whole-shape.ts'

const { values } = parseArgs({
  options: {
    shape: { type: 'string', default: '7b' },
    dtypes: { type: 'string', default: 'int4,int8,int8+int4' },
    k: { type: 'string', default: '10,20' },
    'k-decoder': { type: 'string', default: '0,2,10' },
    threads: { type: 'string', default: String(availableParallelism()) },
    folder: { type: 'string', default: tmpdir() },
  },
})

function numbers(option: string, text: string): number[] {
  const list = text.split(',').map(Number)
  if (list.some((value) => !Number.isInteger(value) || value < 0))
    throw new CodedError('options_invalid', `--${option} takes whole numbers with commas between them (got "${text}").`, {
      field: `--${option}`,
    })
  return list
}

function dtypesOf(text: string): Dtype[] {
  return text.split(',').map((name) => {
    const dtype = DTYPES.find((known) => known === name)
    if (dtype === undefined)
      throw new CodedError('options_invalid', `--dtypes takes ${DTYPES.join(', ')} (got "${name}").`, { field: '--dtypes' })
    return dtype
  })
}

async function run(folder: string): Promise<void> {
  const { shape, threads: threadsText } = values
  if (!isShape(shape)) throw new CodedError('options_invalid', `--shape takes 7b or small (got "${shape}").`, { field: '--shape' })
  const [threads = 1] = numbers('threads', threadsText)
  const [ks, kDecoders, dtypes] = [numbers('k', values.k), numbers('k-decoder', values['k-decoder']), dtypesOf(values.dtypes)]
  const made = await makeShape(folder, shape, dtypes)
  const limits = await measureLimits(threads)
  console.log(
    `# CEPE-LLaMA-2-7B's shape${shape === '7b' ? '' : ' in small'}, ${new Date().toISOString().slice(0, 10)}\n\n${machine(threads)}`,
  )
  console.log(
    `\nLarge f32 product: ${limits.gflops.toFixed(0)} GFLOP/s; vector-matrix product reads ${limits.gigabytesPerSecond.toFixed(1)} GB/s: the limit. ` +
      `Random f16 checkpoint of ${(made.bytes / 1e9).toFixed(2)} GB, written in ${made.seconds.toFixed(0)} s.`,
  )
  for (const dtype of dtypes) {
    const modelDir = join(folder, dtype)
    console.log(`\n## ${dtype}\n\n${await buildShape(made, modelDir, dtype)}`)
    const options = { modelDir, config: made.config, provider: { name: 'cpu' }, threads, ks, kDecoders, limits } as const
    console.log((await stageLines({ ...options, stateDir: join(folder, 'states') })).join('\n'))
    await rm(modelDir, { recursive: true })
  }
}

let folder: string | undefined
try {
  await mkdir(values.folder, { recursive: true })
  folder = await mkdtemp(join(values.folder, 'cepe-bench-7b-'))
  await run(folder)
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`)
  process.exitCode = 1
} finally {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
}
