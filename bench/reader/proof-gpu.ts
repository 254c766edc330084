/**
 * What a CUDA machine should show, in one command and without a network: recorded outputs in f16, the shipped models from question to
 * answer, and CEPE-LLaMA-2-7B's shape by stage with shares of the device's limit. Refuses where CUDA cannot be used.
 * Usage: proof-gpu.js [--provider cuda|cpu] [--device 0] [--shape 7b|small] [--k 10,20,30,60] [--k-decoder 0,2,10] [--questions 200] [--folder <dir>]
 *        [--corpus <passages>] [--question-file <questions>], in place of the shipped ones
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { castModel } from '../../models/graphs/cast.ts'
import type { Dtype } from '../../models/manifest.ts'
import { packageRoot } from '../../src/package.ts'
import type { Provider } from '../../src/inference/protocol.ts'
import { loadGraph } from '../../src/inference/worker/runtime/session.ts'
import { createInProcessClient } from '../../eval/client/in-process.ts'
import { readDataset } from '../../eval/datasets/read.ts'
import { exactMatch } from '../../eval/metrics/answer.ts'
import { benchOptions } from '../arguments.ts'
import { measureDevice } from './device-limits.ts'
import { machine, measureLimits } from '../measure.ts'
import { goldenLines } from './proof-goldens.ts'
import { stageLines } from './stages.ts'
import { buildShape, makeShape, SHAPE_NAMES, type ShapeName } from './whole-shape.ts'

/** Largest accepted difference of a log-probability from the recorded one. */
const ATOL = { f16: 0.05, f32: 2e-4 } as const
const K = 10
/** Exact match of the shipped reader on these questions in f32, less four standard errors of 200 of them. */
const LEAST_EXACT_MATCH = 0.78

const options = benchOptions({
  provider: 'cuda',
  device: '0',
  shape: '7b',
  k: '10,20,30,60',
  'k-decoder': '0,2,10',
  questions: '200',
  folder: tmpdir(),
  corpus: join(packageRoot(), 'index/corpus/passages.tsv'),
  'question-file': join(packageRoot(), 'eval/questions/test.jsonl'),
})

function providerOf(): Provider {
  return options.word('provider', ['cuda', 'cpu']) === 'cpu' ? { name: 'cpu' } : { name: 'cuda', deviceId: options.count('device') }
}

/** The shipped retriever, corpus and reader over the shipped questions. */
async function endToEnd(folder: string, dtype: Dtype, provider: Provider, count: number): Promise<{ line: string; ok: boolean }> {
  const shipped = (name: string): string => join(packageRoot(), name)
  const client = await createInProcessClient({
    ...{ PROVIDER: provider.name, DTYPE: dtype, CPU_FALLBACK: false, ...(provider.name === 'cuda' && { DEVICE_ID: provider.deviceId }) },
    ...{ READER_CHECKPOINT: shipped('models/tiny/checkpoint/cepe'), READER_DIR: join(folder, 'reader') },
    ...{ RETRIEVER_CHECKPOINT: shipped('models/tiny/checkpoint/contriever'), RETRIEVER_DIR: join(folder, 'retriever') },
    ...{ INDEX_DIR: join(folder, 'index'), CORPUS: options.text('corpus') },
  })
  try {
    const { questions } = await readDataset(options.text('question-file'))
    const stride = Math.max(1, Math.floor(questions.length / count))
    const asked = questions.filter((_, i) => i % stride === 0).slice(0, count)
    let right = 0
    const times: number[] = []
    for (const { question, answers } of asked) {
      const { answer, timings_ms: timings } = await client.answer({ question, k: K })
      right += Math.max(...answers.map((gold) => exactMatch(answer ?? '', gold)))
      times.push(timings.total)
    }
    times.sort((a, b) => a - b)
    const share = right / asked.length
    const line = `Exact match ${share.toFixed(3)} of ${asked.length} questions, k = ${K}; ${(times.at(times.length >> 1) ?? 0).toFixed(1)} ms in the middle.`
    return { line, ok: share >= LEAST_EXACT_MATCH }
  } finally {
    await client.close()
  }
}

/** @returns false if a result differs from its expectation */
async function run(folder: string, shape: ShapeName): Promise<boolean> {
  const provider = providerOf()
  const onDevice = provider.name === 'cuda'
  // Before anything is written: the test needs CUDA.
  await (await loadGraph(castModel('f32', 'f16'), { threads: 1, provider })).release()
  const dtype = onDevice ? 'f16' : 'f32'
  console.log(`# Proof on ${provider.name}, ${dtype}, ${new Date().toISOString().slice(0, 10)}\n\n${machine(1)}`)

  console.log('\n## Recorded outputs\n')
  const goldens = await goldenLines(folder, dtype, provider, ATOL[dtype])
  console.log(goldens.lines.join('\n'))

  console.log('\n## The shipped models, from question to answer\n')
  const whole = await endToEnd(folder, dtype, provider, options.count('questions'))
  console.log(whole.line)

  console.log(`\n## CEPE-LLaMA-2-7B's shape${shape === '7b' ? '' : ' in small'}, by stage\n`)
  const made = await makeShape(folder, shape, [dtype])
  const modelDir = join(folder, 'shape')
  console.log(await buildShape(made, modelDir, dtype))
  const limits = onDevice ? await measureDevice(provider) : await measureLimits(1)
  console.log(
    `Limit: a large ${dtype} product at ${limits.gflops.toFixed(0)} GFLOP/s; weights read at ${limits.gigabytesPerSecond.toFixed(0)} GB/s.`,
  )
  const stages = { modelDir, config: made.config, provider, threads: 1, limits, weightBytes: onDevice ? 2 : 4 }
  const [ks, kDecoders] = [options.counts('k'), options.counts('k-decoder')]
  console.log((await stageLines({ ...stages, ks, kDecoders, stateDir: join(folder, 'states') })).join('\n'))
  return goldens.ok && whole.ok
}

let folder: string | undefined
try {
  const shape = options.word('shape', SHAPE_NAMES)
  folder = await mkdtemp(join(options.text('folder'), 'cepe-proof-'))
  if (!(await run(folder, shape))) {
    process.stderr.write('Something is not as it should be: see above.\n')
    process.exitCode = 1
  }
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`)
  process.exitCode = 1
} finally {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
}
