import { existsSync } from 'node:fs'
import t from 'tap'
import { runPython, withoutTorch } from '../helpers/python.ts'
import { SKIPS } from '../helpers/skips.ts'

const CHECK = 'test/fixtures/training/check.py'
const missing = await withoutTorch()

for (const [folder, parts] of [
  ['test/fixtures/training', 8],
  ['../shared/fixtures/training', 9],
] as const) {
  const skip = missing || (existsSync(folder) ? false : SKIPS.shared)
  await t.test(
    `${folder}: initial weights, batches, losses, gradients and steps equal the published training code's`,
    { skip },
    async (t) => {
      const lines = (await runPython([CHECK, folder])).trim().split('\n')
      t.equal(lines.length, parts, lines.join('\n'))
    },
  )
}

await t.test("the recipe's model computes what the published one does", { skip: missing }, async (t) => {
  const folders = ['cepe-tiny', 'cepe-gqa'].map((name) => `test/fixtures/reference/${name}`)
  t.match(await runPython([CHECK, ...folders]), /^cepe-tiny: .*logits.*\ncepe-gqa: .*logits/)
})

await t.test('sequences are paired with passages of other documents, the nearest first', { skip: missing }, async (t) => {
  t.match(await runPython(['test/fixtures/training/check_retrieved.py']), /paired/)
})
