/**
 * The dtypes of a build against f32, stage by stage, as ratios: each runs in turns with the f32 build, so that whatever
 * else the machine does falls on both. Processor time of one thread is counted, not time on the wall. Random weights in
 * TinyLlama-1.1B's widths, 4 of its 22 layers, with CEPE's encoder (2 of 24). Usage: dtypes.ts [rounds]
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { InferenceSession, Tensor } from '../../../models/runtime.ts'
import { present } from '../../../base/at.ts'
import type { BlockSize } from '../../../models/blocks/precision.ts'
import { buildModel } from '../../../models/build.ts'
import type { Dtype } from '../../../models/manifest.ts'
import { tokenBudgetBatches } from '../../../src/inference/batches.ts'
import { padRight } from '../../../src/inference/worker/runtime/pad.ts'
import { int64, machine, openSession, randomTensor, table } from '../measure.ts'
import { cepe1B } from './shapes.ts'
import { uniform, writeSyntheticCheckpoint } from '../../../test/fixtures/synthetic-checkpoint.ts'

const D_ENC = 1024
const BATCH_TOKENS = 1024
const PASSAGE_TOKENS = 120
const ROUNDS = Number(process.argv.at(2) ?? 3)
/** A complete answer: 60 passages, of which the prompt contains 10, and those of 2 demonstrations. */
const ANSWER = { passages: 50, prompt: 12 * PASSAGE_TOKENS + 100, tokens: 25 }

const CONTESTANTS: readonly { readonly name: string; readonly dtype: Dtype; readonly blockSize: BlockSize }[] = [
  { name: 'int8', dtype: 'int8', blockSize: 128 },
  { name: 'int8+int4, block 128', dtype: 'int8+int4', blockSize: 128 },
  { name: 'int4, block 128', dtype: 'int4', blockSize: 128 },
  { name: 'int4, block 32', dtype: 'int4', blockSize: 32 },
]

const folder = mkdtempSync(join(tmpdir(), 'cepe-dtypes-'))

function ids(count: number, seed: number): number[] {
  const next = uniform(seed)
  return Array.from({ length: count }, () => 3 + Math.floor(next() * 31_000))
}

const PASSAGES = Array.from({ length: ANSWER.passages }, (_, i) => ids(PASSAGE_TOKENS, 300 + i))
const BATCHES = tokenBudgetBatches(
  PASSAGES.map(({ length }) => length),
  BATCH_TOKENS,
).map((batch) =>
  padRight(
    batch.map((i) => present(PASSAGES[i])),
    0,
  ),
)

interface Model {
  readonly encoder: InferenceSession
  readonly generate: InferenceSession
}

async function open(dir: string): Promise<Model> {
  return { encoder: await openSession(join(dir, 'cepe_encoder.onnx'), 1), generate: await openSession(join(dir, 'cepe_generate.onnx'), 1) }
}

async function encode({ encoder }: Model): Promise<void> {
  for (const batch of BATCHES) await encoder.run(batch)
}

async function generate(model: Model, prompt: number, phi: Tensor, tokens: number): Promise<void> {
  const feeds = {
    input_ids: int64(ids(prompt, 1), [1, prompt]),
    phi,
    stop_ids: int64([], [0]),
    max_new_tokens: int64([tokens], []),
  }
  await model.generate.run(feeds, ['tokens', 'logprobs', 'attention'])
}

/** Milliseconds of processor time. */
async function cost(run: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

function phiOf(rows: number): Tensor {
  return randomTensor([rows, D_ENC], rows + 1)
}

const RUNS = {
  encode,
  'prompt of 512, no context': (model) => generate(model, 512, phiOf(0), 1),
  'prompt of 512, 2,500 rows': (model) => generate(model, 512, phiOf(2500), 1),
  'prompt of 13, 1,200 rows': (model) => generate(model, 13, phiOf(1200), 1),
  'one token after 16': (model) => generate(model, 16, phiOf(0), 1),
  '13 tokens after 16': (model) => generate(model, 16, phiOf(0), 13),
  'one token after 16, 2,500 rows': (model) => generate(model, 16, phiOf(2500), 1),
  '13 tokens after 16, 2,500 rows': (model) => generate(model, 16, phiOf(2500), 13),
  'answer of one token': (model) => generate(model, ANSWER.prompt, phiOf(ANSWER.passages * PASSAGE_TOKENS), 1),
  'answer of all tokens': (model) => generate(model, ANSWER.prompt, phiOf(ANSWER.passages * PASSAGE_TOKENS), ANSWER.tokens),
} satisfies Record<string, (model: Model) => Promise<void>>
type Run = keyof typeof RUNS

/** The lowest cost of each run, with alternating models. */
async function race(models: readonly Model[]): Promise<readonly Readonly<Record<Run, number>>[]> {
  const names = Object.keys(RUNS) as Run[]
  const best = models.map(() => Object.fromEntries(names.map((name) => [name, Infinity])) as Record<Run, number>)
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of names) {
      for (const [i, model] of models.entries()) {
        const mine = present(best[i])
        mine[name] = Math.min(mine[name], await cost(() => RUNS[name](model)))
      }
    }
  }
  return best
}

/** Milliseconds of each stage, derived from the runs. */
function stages(of: Readonly<Record<Run, number>>): readonly [string, number][] {
  return [
    [`encode ${ANSWER.passages} passages of ${PASSAGE_TOKENS} tokens`, of.encode],
    ['prompt of 512 tokens, no context', of['prompt of 512, no context']],
    ['prompt of 512 tokens, 2,500 context rows', of['prompt of 512, 2,500 rows']],
    ['prompt of 13 tokens, 1,200 context rows', of['prompt of 13, 1,200 rows']],
    ['a further token, no context', (of['13 tokens after 16'] - of['one token after 16']) / 12],
    ['a further token, 2,500 context rows', (of['13 tokens after 16, 2,500 rows'] - of['one token after 16, 2,500 rows']) / 12],
    ['whole answer: 60 passages, 2 demonstrations, 25 tokens', of.encode + of['answer of all tokens']],
  ]
}

try {
  console.log(`# Dtypes\n\n${machine(1)}, ${new Date().toISOString().slice(0, 10)}; processor milliseconds, least of ${ROUNDS}\n`)
  const checkpointDir = await writeSyntheticCheckpoint(join(folder, 'checkpoint'), cepe1B({ layers: 4, encoderLayers: 2 }))
  const exactDir = join(folder, 'f32')
  await buildModel({ checkpointDir, outDir: exactDir, dtype: 'f32', inPlace: true })
  const bytes = statSync(join(checkpointDir, 'model.safetensors')).size
  const exact = await open(exactDir)
  for (const { name, dtype, blockSize } of CONTESTANTS) {
    const outDir = join(folder, dtype)
    await buildModel({ checkpointDir, outDir, dtype, int4: { blockSize, lmHead: 'int8' } })
    const model = await open(outDir)
    const [ours, theirs] = (await race([model, exact])).map(stages)
    console.log(`\n## ${name}: weights ${(statSync(join(outDir, 'weights.bin')).size / bytes).toFixed(2)} of f32's\n`)
    const rows = present(ours).map(([stage, time], i) => {
      const base = present(theirs)[i]?.[1] ?? Number.NaN
      return [stage, base.toFixed(1), time.toFixed(1), `${(base / time).toFixed(2)}x`]
    })
    console.log(table(['stage', 'f32', name, 'faster'], rows))
    await Promise.all([model.encoder.release(), model.generate.release()])
    rmSync(outDir, { recursive: true })
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
