import t from 'tap'
import { estimate, quantile } from '../../eval/statistics/bootstrap.ts'
import { mcnemar, pairedBootstrap } from '../../eval/statistics/paired.ts'
import { sampleIndices, seededRandom } from '../../base/random.ts'

function repeat(value: number, count: number): number[] {
  return Array.from({ length: count }, () => value)
}

t.test('random numbers depend on the seed alone and are uniform', (t) => {
  const draw = (...parts: (string | number)[]) => {
    const random = seededRandom(...parts)
    return Array.from({ length: 10_000 }, random)
  }
  t.equal(draw('a', 1).join(), draw('a', 1).join())
  t.not(draw('a', 1).join(), draw('a', 2).join())
  const numbers = draw('a', 1)
  t.ok(numbers.every((value) => value >= 0 && value < 1))
  t.ok(Math.abs(numbers.reduce((sum, value) => sum + value, 0) / numbers.length - 0.5) < 0.01)
  t.end()
})

t.test('sampled indices are distinct, in range and equally likely', (t) => {
  const counts = [0, 0, 0, 0, 0]
  const draws = Array.from({ length: 5000 }, (_, seed) => sampleIndices(5, 2, seededRandom(seed)))
  t.ok(draws.every((drawn) => new Set(drawn).size === 2 && drawn.every((i) => i >= 0 && i < 5)))
  for (const i of draws.flat()) counts[i] = (counts[i] ?? 0) + 1
  for (const count of counts) t.ok(Math.abs(count - 2000) < 150, `${count} of about 2000`)
  t.same(sampleIndices(3, 10, seededRandom(0)).sort(), [0, 1, 2])
  t.end()
})

t.test('the interval of a share is close to the normal approximation', (t) => {
  const { mean, low, high, n } = estimate([...repeat(1, 300), ...repeat(0, 100)], 0)
  const half = 1.96 * Math.sqrt((0.75 * 0.25) / 400)
  t.equal(mean, 0.75)
  t.equal(n, 400)
  t.ok(Math.abs(low - (0.75 - half)) < 0.01)
  t.ok(Math.abs(high - (0.75 + half)) < 0.01)
  t.same(estimate([1, 0, 1], 5), estimate([1, 0, 1], 5), 'seeded')
  t.equal(estimate([], 0).n, 0)
  t.end()
})

t.test('quantiles interpolate', (t) => {
  t.equal(quantile([1, 2, 3, 4], 0.5), 2.5)
  t.equal(quantile([1, 2, 3, 4, 5], 0.25), 2)
  t.end()
})

t.test("McNemar's exact test by hand", (t) => {
  t.equal(mcnemar(0, 0), 1)
  t.ok(Math.abs(mcnemar(0, 5) - 2 / 32) < 1e-12)
  t.ok(Math.abs(mcnemar(2, 8) - (2 * (1 + 10 + 45)) / 1024) < 1e-12)
  t.equal(mcnemar(5, 5), 1)
  t.ok(mcnemar(500, 700) < 1e-7)
  t.end()
})

t.test('paired bootstrap: a clear difference is significant, none is not', (t) => {
  const a = [...repeat(0, 60), ...repeat(1, 40)]
  const better = [...repeat(1, 30), ...repeat(0, 30), ...repeat(1, 40)]
  const clear = pairedBootstrap(a, better, 0)
  t.equal(clear.difference, 0.3)
  t.ok(clear.p < 0.001 && clear.low > 0.2 && clear.high < 0.4)
  t.equal(pairedBootstrap(a, a, 0).p, 1)
  t.end()
})
