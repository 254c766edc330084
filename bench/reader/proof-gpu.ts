/**
 * What a machine should show, part by part and without a network. Each part's result is printed as it comes, and kept with --keep:
 *   goldens    recorded outputs of a checkpoint of random weights
 *   zero-keys  cross-attention without keys at prompts of 1, 64, 128 and 256 tokens, beside the CPU's
 *   tiny       the tiny shipped models, from question to answer
 *   reader     the shipped reader likewise
 *   shape      CEPE-LLaMA-2-7B's shape (random weights) by stage, with shares of the machine's limit
 * Refuses where CUDA cannot be used.
 * Usage: proof-gpu.js [--provider cuda|cpu] [--device 0] [--parts goldens,zero-keys,tiny,reader,shape] [--dtype f16,f16-int4] [--keep <dir>]
 *        [--shape 7b|1.1b|1.1b-shallow|small] [--k 10,20,30,60] [--k-decoder 0,2,10] [--questions 200] [--threads 1] [--folder <dir>]
 *        [--corpus <passages>] [--question-file <questions>], in place of the shipped ones
 * With --keep, builds and results stay in that folder: a part that is there already is printed, not run again. A failed one is run again.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { closing } from '../../base/files.ts'
import { messageOf } from '../../base/errors.ts'
import { DTYPES } from '../../models/dtypes.ts'
import type { Dtype } from '../../models/manifest.ts'
import { packageRoot } from '../../src/package.ts'
import { probeCuda } from '../../src/inference/cuda/probe.ts'
import type { Provider } from '../../src/inference/protocol.ts'
import { createInProcessClient } from '../../eval/client/in-process.ts'
import { spread } from '../../eval/datasets/question-set.ts'
import { readDataset } from '../../eval/datasets/read.ts'
import { demoCorpus, questionFile } from '../../eval/datasets/shipped.ts'
import { bestOver, exactMatch } from '../../eval/metrics/answer.ts'
import { benchOptions, measureLimits, printHeading, quantile } from '../measure.ts'
import { goldensPart, type PartOptions, type PartResult, zeroKeysPart } from '../../test/inference/provider-outputs.ts'
import { stageLines } from './stages.ts'
import { buildShape, makeShape, SHAPE_NAMES, WEIGHT_BYTES } from './whole-shape.ts'

const K = 10
/** Exact match of a shipped reader on these questions in f32, less four standard errors of 200 of them. */
const LEAST_EXACT_MATCH = { tiny: 0.78, reader: 0.64 } as const
const CHECKPOINTS = { tiny: 'models/tiny/checkpoint/cepe', reader: 'models/reader/checkpoint/smollm2-135m-qa' } as const

const options = benchOptions({
  provider: 'cuda',
  device: '0',
  parts: 'goldens,zero-keys,tiny,reader,shape',
  dtype: '',
  keep: '',
  threads: '1',
  shape: '7b',
  k: '10,20,30,60',
  'k-decoder': '0,2,10',
  questions: '200',
  folder: tmpdir(),
  corpus: demoCorpus(),
  'question-file': questionFile('test.jsonl'),
})

/** Each part, and the options that its result depends on. */
const PARTS = {
  goldens: { run: goldensPart, by: [] },
  'zero-keys': { run: zeroKeysPart, by: [] },
  tiny: { run: (at: PartOptions) => endToEnd('tiny', at), by: ['questions', 'corpus', 'question-file'] },
  reader: { run: (at: PartOptions) => endToEnd('reader', at), by: ['questions', 'corpus', 'question-file'] },
  shape: { run: shapePart, by: ['shape', 'k', 'k-decoder', 'threads'] },
} as const
type PartName = keyof typeof PARTS

/** A shipped reader with the shipped retriever, corpus and questions. */
async function endToEnd(name: keyof typeof CHECKPOINTS, { folder, dtype, provider }: PartOptions): Promise<PartResult> {
  await using client = closing(
    await createInProcessClient({
      PROVIDER: provider.name,
      DTYPE: dtype,
      CPU_FALLBACK: false,
      ...(provider.name === 'cuda' && { DEVICE_ID: provider.deviceId }),
      READER_CHECKPOINT: join(packageRoot(), CHECKPOINTS[name]),
      READER_DIR: join(folder, `reader-${dtype}`),
      RETRIEVER_CHECKPOINT: join(packageRoot(), 'models/tiny/checkpoint/contriever'),
      RETRIEVER_DIR: join(folder, 'retriever'),
      INDEX_DIR: join(folder, 'index'),
      CORPUS: options.text('corpus'),
    }),
  )
  const { questions } = await readDataset(options.text('question-file'))
  const asked = spread(questions, options.integer('questions'))
  let right = 0
  const times: number[] = []
  for (const { question, answers } of asked) {
    const { answer, timings_ms: timings } = await client.answer({ question, k: K })
    right += bestOver(exactMatch, answer ?? '', answers)
    times.push(timings.total)
  }
  const share = right / asked.length
  const text = `Exact match ${share.toFixed(3)} of ${asked.length} questions, k = ${K}; ${quantile(times, 0.5).toFixed(1)} ms in the middle.`
  return { text, ok: share >= LEAST_EXACT_MATCH[name] }
}

let machineLimits: ReturnType<typeof measureLimits> | undefined

async function shapePart({ folder, dtype, provider }: PartOptions): Promise<PartResult> {
  const [threads, modelDir] = [options.integer('threads'), join(folder, dtype)]
  const made = await makeShape(folder, options.word('shape', SHAPE_NAMES), [dtype])
  const built = await buildShape(made, modelDir, dtype)
  const limits = await (machineLimits ??= measureLimits(threads, provider))
  const stages = { modelDir, config: made.config, provider, threads, limits, weightBytes: WEIGHT_BYTES[dtype].token }
  const [ks, kDecoders] = [options.integers('k'), options.integers('k-decoder')]
  const lines = [
    `Random f16 checkpoint of ${(made.bytes / 1e9).toFixed(2)} GB, written in ${made.seconds.toFixed(0)} s. ${built}`,
    `Limit: a large product at ${limits.gflops.toFixed(0)} GFLOP/s; weights read at ${limits.gigabytesPerSecond.toFixed(1)} GB/s.`,
    ...(await stageLines({ ...stages, ks, kDecoders, stateDir: join(folder, `states-${dtype}`) })),
  ]
  if (options.text('keep') === '') await rm(modelDir, { recursive: true })
  return { text: lines.join('\n'), ok: true }
}

/** Runs a part, or reads its kept result. @returns false if it failed */
async function runPart(
  part: PartName,
  dtype: Dtype,
  { home, provider }: { readonly home: string; readonly provider: Provider },
): Promise<boolean> {
  const { run: work, by } = PARTS[part]
  const asked = `<!-- ${JSON.stringify(by.map((name) => options.text(name)))} -->\n`
  const file = (state: string): string => join(home, `${part}-${provider.name}-${dtype}${state}.md`)
  process.stdout.write(`\n## ${part}, ${dtype}\n\n`)
  const kept = await readFile(file(''), 'utf8').catch(() => '')
  if (kept.startsWith(asked)) {
    process.stdout.write(`${kept.slice(asked.length)}\n(Kept from an earlier run.)\n`)
    return true
  }
  const folder = join(home, part === 'shape' ? options.text('shape') : part)
  await mkdir(folder, { recursive: true })
  const { text, ok } = await work({ folder, dtype, provider }).catch((error: unknown) => ({ text: messageOf(error), ok: false }))
  process.stdout.write(`${text}\n`)
  for (const state of ['', '.failed']) await rm(file(state), { force: true })
  await writeFile(file(ok ? '' : '.failed'), `${asked}${text}\n`)
  return ok
}

async function run(): Promise<boolean> {
  const provider: Provider =
    options.word('provider', ['cuda', 'cpu']) === 'cpu' ? { name: 'cpu' } : { name: 'cuda', deviceId: options.integer('device') }
  const parts = options.words('parts', Object.keys(PARTS) as PartName[])
  const dtypes: readonly Dtype[] =
    options.text('dtype') === '' ? [provider.name === 'cuda' ? 'f16' : 'f32'] : options.words('dtype', DTYPES)
  options.word('shape', SHAPE_NAMES)
  // Before anything is written.
  if (provider.name === 'cuda') await probeCuda(provider.deviceId)
  const keep = options.text('keep')
  await mkdir(keep === '' ? options.text('folder') : keep, { recursive: true })
  const home = keep === '' ? await mkdtemp(join(options.text('folder'), 'cepe-proof-')) : resolve(keep)
  try {
    printHeading(`Proof on ${provider.name}`, options.integer('threads'))
    let ok = true
    for (const dtype of dtypes) for (const part of parts) ok = (await runPart(part, dtype, { home, provider })) && ok
    return ok
  } finally {
    if (keep === '') await rm(home, { recursive: true, force: true })
  }
}

try {
  if (!(await run())) {
    process.stderr.write('Something is not as it should be: see above.\n')
    process.exitCode = 1
  }
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`)
  process.exitCode = 1
}
