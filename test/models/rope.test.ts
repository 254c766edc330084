import { join } from 'node:path'
import t from 'tap'
import { present } from '../../base/at.ts'
import { writeSyntheticCheckpoint } from '../fixtures/synthetic-checkpoint.ts'
import { rotaryFrequencies, rotaryTable } from '../../models/blocks/rope.ts'
import { build, int64, LLAMA, logitsAt, randomIds, randomPhi, stepper, temporaryFolder } from './helpers.ts'

const BASE = { headDim: 64, window: 32, ropeTheta: 10_000, ropeScaling: null }
const YARN = { type: 'yarn', factor: 8, originalWindow: 2048, attentionFactor: 0.1 * Math.log(8) + 1, betaFast: 32, betaSlow: 1 } as const

function near(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b))
}

await t.test('plain: theta^(-2i/d), position by position', (t) => {
  const table = rotaryTable(BASE, Math.cos)
  t.equal(table.length, 32 * 32)
  for (const [position, pair] of [
    [0, 0],
    [1, 0],
    [7, 5],
    [31, 31],
  ] as const) {
    t.ok(
      near(table[position * 32 + pair] ?? Number.NaN, Math.cos(position * 10_000 ** ((-2 * pair) / 64))),
      `position ${position}, pair ${pair}`,
    )
  }
  t.end()
})

await t.test('linear: every position counts a factor-th', (t) => {
  const scaled = rotaryTable({ ...BASE, ropeScaling: { type: 'linear', factor: 4 } }, Math.sin)
  const plain = rotaryTable(BASE, Math.sin)
  for (const position of [1, 2, 7]) {
    for (const pair of [0, 3, 31]) t.ok(near(scaled[4 * position * 32 + pair] ?? Number.NaN, plain[position * 32 + pair] ?? Number.NaN))
  }
  t.end()
})

await t.test('yarn: fast pairs stay, slow pairs are interpolated, between them a ramp; amplitude', (t) => {
  const plain = rotaryFrequencies(BASE)
  const scaled = rotaryFrequencies({ ...BASE, ropeScaling: YARN })
  const turns = (pair: number): number => (2048 * (plain[pair] ?? 0)) / (2 * Math.PI)
  const kept = [...plain.keys()].filter((pair) => turns(pair) > 40)
  const slow = [...plain.keys()].filter((pair) => turns(pair) < 0.8)
  t.ok(kept.length > 5 && slow.length > 5)
  for (const pair of kept) t.ok(near(scaled[pair] ?? 0, plain[pair] ?? Number.NaN), `pair ${pair} turns ${turns(pair)} times`)
  for (const pair of slow) t.ok(near(scaled[pair] ?? 0, (plain[pair] ?? Number.NaN) / 8), `pair ${pair} turns ${turns(pair)} times`)
  const shares = [...plain.keys()].map((pair) => ((plain[pair] ?? 0) / (scaled[pair] ?? Number.NaN) - 1) / 7)
  t.ok(
    shares.every((share, pair) => pair === 0 || share >= (shares[pair - 1] ?? 0) - 1e-9),
    'the ramp rises',
  )

  // By hand: d(beta) = 64 ln(2048 / (2 pi beta)) / (2 ln 10000) is 8.06 for 32 and 20.10 for 1, so the ramp is 8..21 and pair 14 stands at 6/13.
  const pair = 14
  const ramp = (pair - 8) / 13
  t.ok(near(scaled[pair] ?? 0, (plain[pair] ?? 0) * (1 - ramp + ramp / 8)))

  const table = rotaryTable({ ...BASE, ropeScaling: YARN }, Math.cos)
  t.ok(near(table[0] ?? 0, 0.1 * Math.log(8) + 1), 'position 0 shows the attention factor')
  t.end()
})

await t.test('llama3: fast pairs stay, slow pairs are interpolated, the ramp is linear in turns; no amplitude', (t) => {
  const base = { headDim: 64, window: 32, ropeTheta: 500_000, ropeScaling: null }
  const scaling = { type: 'llama3', factor: 8, originalWindow: 8192, lowTurns: 1, highTurns: 4 } as const
  const plain = rotaryFrequencies(base)
  const scaled = rotaryFrequencies({ ...base, ropeScaling: scaling })
  const seen = { kept: 0, slow: 0, between: 0 }
  for (const [pair, frequency] of plain.entries()) {
    const wavelength = (2 * Math.PI) / frequency
    // As LLaMA 3.1's model card states it: by wavelengths.
    const [short, long] = [8192 / 4, 8192 / 1]
    const kind = wavelength < short ? 'kept' : wavelength > long ? 'slow' : 'between'
    const smooth = (8192 / wavelength - 1) / (4 - 1)
    const expected = { kept: frequency, slow: frequency / 8, between: ((1 - smooth) * frequency) / 8 + smooth * frequency }[kind]
    seen[kind]++
    t.ok(near(scaled[pair] ?? Number.NaN, expected), `pair ${pair}, ${kind}`)
  }
  t.ok(seen.kept > 5 && seen.slow > 5 && seen.between > 0)
  t.ok(near(rotaryTable({ ...base, ropeScaling: scaling }, Math.cos)[0] ?? Number.NaN, 1))
  t.end()
})

await t.test('a graph reads the scaled tables: with linear scaling the far tokens weigh differently', async (t) => {
  const folder = temporaryFolder(t)
  const prompt = randomIds(40, 3)
  const phi = randomPhi(0, 1, 1)
  const last = await Promise.all(
    [null, { type: 'linear', factor: 4 }, { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 64 }].map(
      async (scaling, i) => {
        const checkpointDir = await writeSyntheticCheckpoint(
          join(folder, `llama${i}`),
          { ...LLAMA, rope_scaling: scaling },
          { seed: 4, deviation: 0.3 },
        )
        const model = await build(t, { checkpointDir, dtype: 'f32', outDir: join(folder, `built${i}`) })
        const logits = logitsAt(await stepper(await model.graph('cepe_step'), model.manifest, phi)([prompt]), 0, 39)
        const first = await (
          await model.graph('cepe_generate')
        )({ input_ids: int64(prompt, [1, 40]), phi, stop_ids: int64([]), max_new_tokens: int64([1], []) })
        const chosen = Number((present(first['tokens']).data as BigInt64Array)[0])
        t.ok(Math.max(...logits) - (logits[chosen] ?? 0) < 1e-3, 'step and generate use the same positions')
        return logits
      },
    ),
  )
  t.notSame(last[0], last[1])
  t.notSame(last[0], last[2])
})
