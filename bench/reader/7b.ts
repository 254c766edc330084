/**
 * CEPE-LLaMA-2-7B's exact shape on this machine: writes a random checkpoint of it, builds the dtypes asked for, and has a reader process
 * answer: seconds by stage, resident memory, share of the limit that the machine's f32 product and the reading of the weights set.
 * What it writes is removed.
 * Usage: 7b.js [--shape 7b|1.1b|1.1b-shallow|small] [--dtypes int4,int8,int8+int4] [--k 10,20] [--k-decoder 0,2,10] [--threads N] [--folder <dir>]
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { DTYPES, type Dtype } from '../../models/manifest.ts'
import { benchOptions } from '../arguments.ts'
import { machine, measureLimits } from '../measure.ts'
import { stageLines } from './stages.ts'
import { buildShape, makeShape, SHAPE_NAMES } from './whole-shape.ts'

/** Bytes per weight read for each token; 4 bits with one f32 scale per 128. */
const TOKEN_BYTES: Readonly<Record<Dtype, number>> = {
  f32: 4,
  f16: 2,
  int8: 1,
  'int8-blocks': 1.1,
  'int8+int4': 0.53,
  int4: 0.53,
  'f16-int4': 0.53,
}

const options = benchOptions({
  shape: '7b',
  dtypes: 'int4,int8,int8+int4',
  k: '10,20',
  'k-decoder': '0,2,10',
  threads: String(availableParallelism()),
  folder: tmpdir(),
})

async function run(folder: string): Promise<void> {
  const [shape, threads] = [options.word('shape', SHAPE_NAMES), options.count('threads')]
  const [ks, kDecoders, dtypes] = [options.counts('k'), options.counts('k-decoder'), options.words('dtypes', DTYPES)]
  const made = await makeShape(folder, shape, dtypes)
  const limits = await measureLimits(threads)
  console.log(
    `# CEPE-LLaMA-2-7B's shape${shape === '7b' ? '' : ` (${shape})`}, ${new Date().toISOString().slice(0, 10)}\n\n${machine(threads)}`,
  )
  console.log(
    `\nLarge f32 product: ${limits.gflops.toFixed(0)} GFLOP/s; vector-matrix product reads ${limits.gigabytesPerSecond.toFixed(1)} GB/s: the limit. ` +
      `Random f16 checkpoint of ${(made.bytes / 1e9).toFixed(2)} GB, written in ${made.seconds.toFixed(0)} s.`,
  )
  for (const dtype of dtypes) {
    const modelDir = join(folder, dtype)
    console.log(`\n## ${dtype}\n\n${await buildShape(made, modelDir, dtype)}`)
    const stages = { modelDir, config: made.config, provider: { name: 'cpu' }, threads, ks, kDecoders, limits } as const
    const weightBytes = TOKEN_BYTES[dtype]
    console.log((await stageLines({ ...stages, weightBytes, stateDir: join(folder, 'states') })).join('\n'))
    await rm(modelDir, { recursive: true })
  }
}

let folder: string | undefined
try {
  await mkdir(options.text('folder'), { recursive: true })
  folder = await mkdtemp(join(options.text('folder'), 'cepe-bench-7b-'))
  await run(folder)
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`)
  process.exitCode = 1
} finally {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
}
