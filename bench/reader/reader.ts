/**
 * The reader's speed against the machine's limits, ratios within one run. Random weights in the
 * widths of TinyLlama-1.1B and CEPE-LLaMA-2-7B, fewer layers. Usage: reader.ts [threads]
 */
import { at } from '../../base/at.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { InferenceSession, Tensor } from '../../models/runtime.ts'
import { buildModel } from '../../models/build.ts'
import type { CepeReaderConfig } from '../../models/checkpoint/config/config.ts'
import { openCheckpoint } from '../../models/checkpoint/open.ts'
import { tokenBudgetBatches } from '../../src/inference/batches.ts'
import { padRight } from '../../src/inference/worker/runtime/pad.ts'
import { fastest, int64, machine, measureLimits, openSession, randomTensor, table, type Limits } from '../measure.ts'
import { absorbedFlops, encoderFlops, prefillFlops, tokenBytes } from './reader-flops.ts'
import { cepe1B, cepe7B, type Depth } from './shapes.ts'
import { uniform, writeSyntheticCheckpoint } from '../../test/fixtures/synthetic-checkpoint.ts'

const CONTEXT_ROWS = [0, 2000, 8000] as const
const DEPTH_1B: Depth = { layers: 4, encoderLayers: 2 }
const DEPTH_7B: Depth = { layers: 2, encoderLayers: 1 }
/** Batch size of the service. */
const BATCH_TOKENS = 2048

const threads = Number(process.argv.at(2) ?? 2)
const folder = mkdtempSync(join(tmpdir(), 'cepe-bench-'))
function say(text: string): void {
  return console.log(text)
}
function ms(value: number): string {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)
}
function times(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 1)}x`
}

/** Layers of the published models. */
const FULL_DEPTH = { '1.1B widths': 22, '7B widths': 32 } as const
type ShapeName = keyof typeof FULL_DEPTH

function randomIds(count: number, seed: number): number[] {
  const next = uniform(seed)
  return Array.from({ length: count }, () => 3 + Math.floor(next() * 31_000))
}

/** Outputs that the service fetches; the caches would be copied. */
const ANSWER = ['tokens', 'logprobs', 'attention']

function feedsOf(prompt: number, phi: Tensor, newTokens: number): Record<string, Tensor> {
  return {
    input_ids: int64(randomIds(prompt, 1), [1, prompt]),
    phi,
    stop_ids: int64([], [0]),
    max_new_tokens: int64([newTokens], []),
  }
}

/** Milliseconds per further token: a run of several minus a run of one. */
async function perToken(session: InferenceSession, phi: Tensor, tokens: number, repeats: number): Promise<number> {
  await session.run(feedsOf(16, phi, 2), ANSWER)
  const one = await fastest(repeats, () => session.run(feedsOf(16, phi, 1), ANSWER))
  return ((await fastest(repeats, () => session.run(feedsOf(16, phi, 1 + tokens), ANSWER))) - one) / tokens
}

interface Shape {
  readonly name: ShapeName
  readonly checkpointDir: string
  readonly builtDir: string
  readonly config: CepeReaderConfig
}

async function makeShape(name: ShapeName, config: object): Promise<Shape> {
  const checkpointDir = await writeSyntheticCheckpoint(join(folder, name), config)
  const builtDir = join(folder, `${name}-f32`)
  await buildModel({ checkpointDir, outDir: builtDir, dtype: 'f32', inPlace: true })
  const checkpoint = await openCheckpoint(checkpointDir)
  await checkpoint.close()
  if (checkpoint.config.architecture !== 'cepe' || checkpoint.config.encoder === null) throw new Error('a reader is needed')
  return { name, checkpointDir, builtDir, config: checkpoint.config }
}

/** Runs with a session that is released afterwards, so that memory holds one at a time. */
async function using<T>(opening: Promise<InferenceSession>, run: (session: InferenceSession) => Promise<T>): Promise<T> {
  const session = await opening
  try {
    return await run(session)
  } finally {
    await session.release()
  }
}

async function decodeTable(shape: Shape, limits: Limits): Promise<void> {
  const { decoder, encoder } = shape.config
  const perRows = await using(openSession(join(shape.builtDir, 'cepe_generate.onnx'), threads), async (session) => {
    const results: number[] = []
    for (const rows of CONTEXT_ROWS) results.push(await perToken(session, randomTensor([rows, encoder.hiddenSize], rows), 8, 3))
    return results
  })
  const depth = FULL_DEPTH[shape.name]
  const head = (4 * decoder.hiddenSize * decoder.vocabSize) / limits.gigabytesPerSecond / 1e6
  say(`\n## Decode, ${shape.name}, ${decoder.layers} layers, ms per token\n`)
  say(
    table(
      ['context rows', 'generate graph', `the same at ${depth} layers`],
      CONTEXT_ROWS.map((rows, i) => [String(rows), ms(at(perRows, i)), ms(head + ((at(perRows, i) - head) / decoder.layers) * depth)]),
    ),
  )
}

function encodeTime(session: InferenceSession, passages: readonly number[][], batches: readonly (readonly number[])[]): Promise<number> {
  const feeds = batches.map((batch) =>
    padRight(
      batch.map((i) => at(passages, i)),
      0,
    ),
  )
  return fastest(2, async () => {
    for (const batch of feeds) await session.run(batch)
  })
}

async function encoderTable(shape: Shape, limits: Limits): Promise<void> {
  const length = uniform(9)
  const passages = Array.from({ length: 60 }, (_, i) => randomIds(40 + Math.floor(length() * 161), 100 + i))
  const lengths = passages.map((ids) => ids.length)
  const tokens = lengths.reduce((a, b) => a + b, 0)
  const flops = encoderFlops(shape.config, lengths)
  const ways: [string, readonly (readonly number[])[]][] = [
    ['one at a time', passages.map((_, i) => [i])],
    ['one padded batch', [passages.map((_, i) => i)]],
    ...[1024, BATCH_TOKENS, 4096].map((budget): [string, number[][]] => [
      `sorted, at most ${budget} padded tokens${budget === BATCH_TOKENS ? ' (the service)' : ''}`,
      tokenBudgetBatches(lengths, budget),
    ]),
  ]
  const timed = await using(openSession(join(shape.builtDir, 'cepe_encoder.onnx'), threads), async (session) => {
    const results: [string, number][] = []
    for (const [name, batches] of ways) results.push([name, await encodeTime(session, passages, batches)])
    return results
  })
  const best = Math.min(...timed.map(([, time]) => time))
  say(`\n## Encoder, ${shape.config.encoder.layers} layers, 60 passages of 40 to 200 tokens (${tokens})\n`)
  say(
    table(
      ['batches', 'ms', 'tokens/s', 'of the best', 'GFLOP/s', 'of the large product'],
      timed.map(([name, time]) => [
        name,
        ms(time),
        ((1000 * tokens) / time).toFixed(0),
        times(time / best),
        (flops / time / 1e6).toFixed(0),
        (flops / time / 1e6 / limits.gflops).toFixed(2),
      ]),
    ),
  )
}

async function prefillTable(shape: Shape, limits: Limits): Promise<void> {
  const rows = await using(openSession(join(shape.builtDir, 'cepe_generate.onnx'), threads), async (session) => {
    const results: string[][] = []
    for (const [prompt, context] of [
      [128, 0],
      [512, 0],
      [512, 2000],
      [512, 8000],
    ] as const) {
      const feeds = feedsOf(prompt, randomTensor([context, shape.config.encoder.hiddenSize], 3), 1)
      const time = await fastest(2, () => session.run(feeds, ANSWER))
      const gflops = prefillFlops(shape.config, prompt, context) / time / 1e6
      results.push([String(prompt), String(context), ms(time), gflops.toFixed(0), (gflops / limits.gflops).toFixed(2)])
    }
    return results
  })
  say(`\n## Prefill, ${shape.name}, ${shape.config.decoder.layers} layers\n`)
  say(table(['prompt tokens', 'context rows', 'ms', 'GFLOP/s', 'of the large product'], rows))
}

/** 50 passages in the encoder; 10 passages, 2 demonstrations with one passage each and the question in the prompt. */
async function answerTable(shape: Shape, limits: Limits): Promise<void> {
  const [passageTokens, promptTokens, newTokens] = [120, 12 * 120 + 100, 25]
  const passages = Array.from({ length: 50 }, (_, i) => randomIds(passageTokens, 300 + i))
  const lengths = passages.map((ids) => ids.length)
  const rows = 50 * passageTokens
  const encode = await using(openSession(join(shape.builtDir, 'cepe_encoder.onnx'), threads), (session) =>
    encodeTime(session, passages, tokenBudgetBatches(lengths, BATCH_TOKENS)),
  )
  const phi = randomTensor([rows, shape.config.encoder.hiddenSize], 4)
  const [prefill, whole] = await using(
    openSession(join(shape.builtDir, 'cepe_generate.onnx'), threads),
    async (session) =>
      [
        await fastest(2, () => session.run(feedsOf(promptTokens, phi, 1), ANSWER)),
        await fastest(2, () => session.run(feedsOf(promptTokens, phi, newTokens), ANSWER)),
      ] as const,
  )
  const decodeLimit =
    ((newTokens - 1) * (tokenBytes(shape.config) / limits.gigabytesPerSecond + absorbedFlops(shape.config, rows) / limits.gflops)) / 1e6
  const stages: [string, number, number][] = [
    ['encode 50 passages', encode, encoderFlops(shape.config, lengths) / limits.gflops / 1e6],
    [`prefill ${promptTokens} tokens`, prefill, prefillFlops(shape.config, promptTokens, rows) / limits.gflops / 1e6],
    [`decode ${newTokens} tokens`, whole - prefill, decodeLimit],
  ]
  const total = stages.reduce<[string, number, number]>(
    ([name, a, b], [, time, limit]) => [name, a + time, b + limit],
    ['whole answer', 0, 0],
  )
  say(
    `\n## A whole answer: 60 passages, 2 demonstrations, 25 tokens; ${shape.name}, ${shape.config.decoder.layers} decoder and ${shape.config.encoder.layers} encoder layers\n`,
  )
  say(
    table(
      ['stage', 'ms', 'limit ms', 'share of the limit'],
      [...stages, total].map(([name, time, limit]) => [name, ms(time), ms(limit), (limit / time).toFixed(2)]),
    ),
  )
  say('\nLimit: operations at the speed of the large product; weights of each further token at the speed of a vector-matrix product.')
}

try {
  const started = performance.now()
  say(`# Reader\n\n${machine(threads)}, ${new Date().toISOString().slice(0, 10)}`)
  const limits = await measureLimits(threads)
  say(
    `Large f32 product (1024 x 2048 x 4096): ${limits.gflops.toFixed(0)} GFLOP/s; vector-matrix product reads ${limits.gigabytesPerSecond.toFixed(1)} GB/s.`,
  )
  const small = await makeShape('1.1B widths', cepe1B(DEPTH_1B))
  await decodeTable(small, limits)
  await prefillTable(small, limits)
  await encoderTable(small, limits)
  await answerTable(small, limits)
  for (const name of ['1.1B widths', '1.1B widths-f32']) rmSync(join(folder, name), { recursive: true })
  await decodeTable(await makeShape('7B widths', cepe7B(DEPTH_7B)), limits)
  say(`\nThe run took ${((performance.now() - started) / 1000).toFixed(0)} s.`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
