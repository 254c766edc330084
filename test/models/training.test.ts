import { existsSync } from 'node:fs'
import t from 'tap'
import { runRecipe, withoutTorch } from '../helpers/recipe.ts'
import { SKIPS } from '../helpers/skips.ts'

const missing = await withoutTorch()

for (const [folder, parts] of [
  ['test/fixtures/training', 8],
  ['../shared/fixtures/training', 9],
] as const) {
  const skip = missing || (existsSync(folder) ? false : SKIPS.shared)
  await t.test(`${folder}: initial weights, batches, losses, gradients and steps equal the published training code's`, { skip }, async (t) => {
    const lines = (await runRecipe('check_goldens.py', [folder])).trim().split('\n')
    t.equal(lines.length, parts, lines.join('\n'))
  })
}
