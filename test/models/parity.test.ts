import t from 'tap'
import { formatVerification } from '../../models/golden.ts'
import { verifyGolden } from '../../src/inference/worker/tasks/verify.ts'
import { build, floats, FIXTURES, goldenCheckpoints, goldenFiles, int64, largestDifference, randomIds } from './helpers.ts'

const ATOL = 2e-4

for (const checkpointDir of goldenCheckpoints()) {
  await t.test(`${checkpointDir} agrees with its recorded outputs`, async (t) => {
    const { dir } = await build(t, { checkpointDir, dtype: 'f32' })
    const files = goldenFiles(checkpointDir)
    t.not(files.length, 0)
    for (const result of await verifyGolden(dir, files, ATOL)) {
      t.ok(result.ok, formatVerification(result))
      t.ok(result.differences.length > 0)
    }
  })
}

await t.test('a difference above the tolerance is reported', async (t) => {
  const { dir } = await build(t, { checkpointDir: `${FIXTURES}/cepe-tiny-gqa`, dtype: 'f32' })
  const [result] = await verifyGolden(dir, [`${FIXTURES}/cepe-tiny-gqa/golden-k3-left.safetensors`], 1e-9)
  t.equal(result?.ok, false)
  t.match(result ? formatVerification(result) : '', /DIFFERS/)
})

await t.test('the order of passages changes only rounding', async (t) => {
  const { graph } = await build(t, { checkpointDir: `${FIXTURES}/cepe-tiny-gqa`, dtype: 'f32' })
  const [encoder, generate] = [await graph('cepe_encoder'), await graph('cepe_generate')]
  const passages = Array.from({ length: 6 }, (_, i) => ({ ids: randomIds(5 + i, 70 + i), from: 0 }))
  const answer = async (order: readonly number[]): Promise<{ logprobs: Float32Array; tokens: string; shares: Map<number, number> }> => {
    const rows = order.map((i) => passages[i]?.ids ?? [])
    const length = Math.max(...rows.map((row) => row.length))
    const padded = (fill: (row: readonly number[], at: number) => number): number[] =>
      rows.flatMap((row) => Array.from({ length }, (_, at) => fill(row, at)))
    const { phi } = await encoder({
      input_ids: int64(
        padded((row, at) => row[at] ?? 0),
        [rows.length, length],
      ),
      attention_mask: int64(
        padded((row, at) => (at < row.length ? 1 : 0)),
        [rows.length, length],
      ),
    })
    if (!phi) throw new Error('no phi')
    const out = await generate({ input_ids: int64(randomIds(9, 3), [1, 9]), phi, stop_ids: int64([2]), max_new_tokens: int64([8], []) })
    const attention = floats(out['attention'])
    const shares = new Map<number, number>()
    let at = 0
    for (const [i, row] of rows.entries()) {
      shares.set(
        order[i] ?? -1,
        attention.slice(at, at + row.length).reduce((a, b) => a + b, 0),
      )
      at += row.length
    }
    return { logprobs: floats(out['logprobs']), tokens: String(out['tokens']?.data), shares }
  }
  const straight = await answer([0, 1, 2, 3, 4, 5])
  const mixed = await answer([4, 2, 5, 0, 3, 1])
  t.equal(mixed.tokens, straight.tokens)
  t.ok(largestDifference(mixed.logprobs, straight.logprobs) < 1e-5)
  for (const [passage, share] of straight.shares)
    t.ok(Math.abs(share - (mixed.shares.get(passage) ?? Number.NaN)) < 1e-5, `passage ${passage}`)
})
