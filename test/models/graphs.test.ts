import t from 'tap'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeSyntheticCheckpoint } from '../fixtures/synthetic-checkpoint.ts'
import { f32Safetensors } from '../fixtures/weights.ts'
import { openCheckpoint } from '../../models/open-checkpoint.ts'
import { readF32 } from '../../models/checkpoint/weights.ts'
import {
  build,
  CEPE,
  floats,
  greedyBySteps,
  int64,
  largestDifference,
  LLAMA,
  logitsAt,
  numbers,
  randomIds,
  randomPhi,
  stepper,
  temporaryFolder,
  type Run,
} from './helpers.ts'

const checkpointDir = await writeSyntheticCheckpoint(join(temporaryFolder(t), 'cepe'), CEPE, { seed: 5, deviation: 0.3 })
const { manifest, graph } = await build(t, { checkpointDir, dtype: 'f32' })
const [encoder, generate, step] = [await graph('cepe_encoder'), await graph('cepe_generate'), await graph('cepe_step')]

async function generated(
  run: Run,
  { prompt, phi }: { readonly prompt: readonly number[]; readonly phi: ReturnType<typeof randomPhi> },
  stops: readonly number[],
  most: number,
) {
  const out = await run({ input_ids: int64(prompt, [1, prompt.length]), phi, stop_ids: int64(stops), max_new_tokens: int64([most], []) })
  return {
    tokens: numbers(out['tokens']),
    logprobs: floats(out['logprobs']),
    attention: floats(out['attention']),
    shape: out['attention']?.dims,
  }
}

for (const [name, prompt, rows, stops, most] of [
  ['a prompt with context', randomIds(12, 1), 7, [], 9],
  ['no context', randomIds(12, 2), 0, [], 9],
  ['a prompt of one token', randomIds(1, 3), 5, [], 6],
  ['one new token', randomIds(4, 4), 5, [], 1],
  ['one new token without context', randomIds(4, 4), 0, [], 1],
  ['the whole window', randomIds(250, 5), 3, [], 20],
] as const) {
  await t.test(`generate and step agree: ${name}`, async (t) => {
    const phi = randomPhi(rows, 32, 9)
    const made = await generated(generate, { prompt, phi }, stops, most)
    const expected = Math.min(most, 256 - prompt.length + 1)
    t.equal(made.tokens.length, expected, 'ends at max_new_tokens or where the window is full')
    t.same(made.tokens, await greedyBySteps(stepper(step, manifest, phi), prompt, stops, expected))
    t.same(made.shape, [expected, rows])
    t.equal(made.logprobs.length, expected)
    for (let i = 0; rows > 0 && i < expected; i++) {
      t.ok(Math.abs(made.attention.slice(i * rows, (i + 1) * rows).reduce((a, b) => a + b, 0) - 1) < 1e-5, 'attention sums to 1')
    }
  })
}

await t.test('ends after any of the stop ids, which is kept', async (t) => {
  const phi = randomPhi(4, 32, 2)
  const prompt = randomIds(8, 8)
  const free = await generated(generate, { prompt, phi }, [], 12)
  const third = free.tokens[2] ?? -1
  const firstAt = free.tokens.indexOf(third)
  const stopped = await generated(generate, { prompt, phi }, [1_000, third], 12)
  t.same(stopped.tokens, free.tokens.slice(0, firstAt + 1))
  t.same(
    (await generated(generate, { prompt, phi }, free.tokens.slice(0, 1), 12)).tokens,
    free.tokens.slice(0, 1),
    'the first token may be the stop',
  )
})

await t.test('step: padding on either side, or between cache and new tokens, changes nothing', async (t) => {
  const phi = randomPhi(6, 32, 4)
  const prompts = [randomIds(7, 21), randomIds(4, 22), randomIds(1, 23)]
  const continuation = randomIds(3, 24)
  const alone = await Promise.all(
    prompts.map(async (prompt) => {
      const run = stepper(step, manifest, phi)
      const first = await run([prompt])
      return [logitsAt(first, 0, prompt.length - 1), logitsAt(await run([continuation]), 0, 2)] as const
    }),
  )
  for (const side of ['left', 'right'] as const) {
    const run = stepper(step, manifest, phi, 3)
    const padded = (row: readonly number[], fill: readonly number[]): number[] => (side === 'left' ? [...fill, ...row] : [...row, ...fill])
    const fill = prompts.map((prompt) => Array.from({ length: 7 - prompt.length }, () => 0))
    const first = await run(
      prompts.map((prompt, i) => padded(prompt, fill[i] ?? [])),
      prompts.map((prompt, i) =>
        padded(
          prompt.map(() => 1),
          fill[i] ?? [],
        ),
      ),
    )
    const next = await run(prompts.map(() => continuation))
    prompts.forEach((prompt, i) => {
      const place = side === 'left' ? 6 : prompt.length - 1
      t.ok(largestDifference(logitsAt(first, i, place), alone[i]?.[0] ?? new Float32Array()) < 1e-4, `${side}, row ${i}, prompt`)
      t.ok(largestDifference(logitsAt(next, i, 2), alone[i]?.[1] ?? new Float32Array()) < 1e-4, `${side}, row ${i}, continuation`)
    })
  }
})

await t.test('step: many tokens at once (projected keys) and in pieces (absorbed) agree', async (t) => {
  const prompt = randomIds(200, 31)
  for (const rows of [0, 5]) {
    const phi = randomPhi(rows, 32, 6)
    const whole = await stepper(step, manifest, phi)([prompt])
    const run = stepper(step, manifest, phi)
    for (let from = 0; from < 200; from += 20) {
      const piece = await run([prompt.slice(from, from + 20)])
      t.ok(largestDifference(logitsAt(piece, 0, 19), logitsAt(whole, 0, from + 19)) < 1e-4, `context ${rows}, to ${from + 20}`)
    }
  }
})

await t.test('encoder: passages stand alone, padding is dropped', async (t) => {
  const [a, b] = [randomIds(6, 41), randomIds(3, 42)]
  const both = await encoder({
    input_ids: int64([...a, 0, 0, 0, ...b], [2, 6]),
    attention_mask: int64([1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1], [2, 6]),
  })
  const one = async (row: readonly number[]): Promise<Float32Array> =>
    floats(
      (
        await encoder({
          input_ids: int64(row, [1, row.length]),
          attention_mask: int64(
            row.map(() => 1),
            [1, row.length],
          ),
        })
      )['phi'],
    )
  t.same(both['phi']?.dims, [9, 32])
  t.ok(largestDifference(floats(both['phi']), Float32Array.of(...(await one(a)), ...(await one(b)))) < 1e-5)
})

await t.test('a decoder alone has no encoder and ignores phi', async (t) => {
  const folder = await writeSyntheticCheckpoint(join(temporaryFolder(t), 'llama'), LLAMA, { seed: 6, deviation: 0.3 })
  const model = await build(t, { checkpointDir: folder, dtype: 'f32' })
  t.equal(model.manifest.architecture === 'cepe' && model.manifest.graphs.encoder, null)
  const [run, steps] = [await model.graph('cepe_generate'), await model.graph('cepe_step')]
  const prompt = randomIds(10, 51)
  const phi = randomPhi(2, 1, 1)
  const made = await generated(run, { prompt, phi }, [], 6)
  t.same(made.tokens, await greedyBySteps(stepper(steps, model.manifest, phi), prompt, [], 6))
  t.same(
    [...made.attention],
    Array.from({ length: 12 }, () => 0),
  )
})

await t.test('tied embeddings give the logits of an equal lm_head', async (t) => {
  const folder = temporaryFolder(t)
  const tied = await writeSyntheticCheckpoint(join(folder, 'tied'), { ...LLAMA, tie_word_embeddings: true }, { seed: 7, deviation: 0.3 })
  const source = await openCheckpoint(tied)
  const tensors = await Promise.all(
    [...source.tensors.values()].map(async ({ name, shape }) => [name, { shape, values: [...(await readF32(source, name))] }] as const),
  )
  const embeddings = tensors.find(([name]) => name === 'model.embed_tokens.weight')?.[1]
  if (!embeddings) throw new Error('no embeddings')
  mkdirSync(join(folder, 'untied'))
  writeFileSync(join(folder, 'untied/config.json'), JSON.stringify(LLAMA))
  writeFileSync(join(folder, 'untied/model.safetensors'), f32Safetensors({ ...Object.fromEntries(tensors), 'lm_head.weight': embeddings }))
  const logits = await Promise.all(
    [tied, join(folder, 'untied')].map(async (checkpoint, i) => {
      const model = await build(t, { checkpointDir: checkpoint, dtype: 'f32', outDir: join(folder, `built${i}`) })
      return floats(await stepper(await model.graph('cepe_step'), model.manifest, randomPhi(0, 1, 1))([randomIds(5, 61)]))
    }),
  )
  t.ok(largestDifference(logits[0] ?? new Float32Array(), logits[1] ?? new Float32Array(1)) < 1e-6)
})
