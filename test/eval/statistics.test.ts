import t from 'tap'
import { estimate, estimateShare, mcnemar, pairedBootstrap, quantile, relativeSpeed, type Sample } from '../../eval/statistics/bootstrap.ts'
import { toMarkdown } from '../../eval/report/blocks.ts'
import { comparisonBlocks, compareRuns } from '../../eval/run/compare.ts'
import type { TaskRun } from '../../eval/run/contract.ts'
import { sampleIndices, seededRandom } from '../../base/random.ts'

/** Each in a cluster of its own. */
function samples(values: readonly number[]): Sample[] {
  return values.map((value, i) => ({ cluster: `item ${i}`, value }))
}

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
  t.same(
    sampleIndices(3, 10, seededRandom(0)).sort((a, b) => a - b),
    [0, 1, 2],
  )
  t.end()
})

t.test('the interval of a share is close to the normal approximation', (t) => {
  const { mean, low, high, n } = estimateShare(samples([...repeat(1, 300), ...repeat(0, 100)]), 0)
  const half = 1.96 * Math.sqrt((0.75 * 0.25) / 400)
  t.equal(mean, 0.75)
  t.equal(n, 400)
  t.ok(Math.abs(low - (0.75 - half)) < 0.01)
  t.ok(Math.abs(high - (0.75 + half)) < 0.01)
  t.same(estimate(samples([1, 0, 1]), 5), estimate(samples([1, 0, 1]), 5), 'seeded')
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
  const pairs = (b: readonly number[]) => a.map((score, i) => ({ cluster: String(i), a: score, b: b[i] ?? 0 }))
  const clear = pairedBootstrap(pairs(better), 0)
  t.equal(clear.difference, 0.3)
  t.ok(clear.p < 0.001 && clear.low > 0.2 && clear.high < 0.4)
  t.equal(pairedBootstrap(pairs(a), 0).p, 1)
  const oneDocument = [2, 2.2, 2.4].map((loss) => ({ cluster: 'a document', a: loss, b: loss - 0.5 }))
  t.match(
    pairedBootstrap(oneDocument, 0),
    { difference: -0.5, low: Number.NaN, high: Number.NaN, p: Number.NaN },
    'of one document nothing is known',
  )
  t.end()
})

t.test('rows about one question are not compared as if they were independent', (t) => {
  const task = { name: 'altqa', metrics: [{ name: 'accuracy', label: 'accuracy', digits: 1, aggregate: 'percent' }] }
  const run = (accuracy: number, questions: number) =>
    ({
      task,
      seed: 0,
      manifest: { subject: { files: [], settings: ['all'] } },
      records: Array.from({ length: 12 }, (_, i) => ({
        id: `row ${i}`,
        cluster: `question ${i % questions}`,
        results: [{ setting: 'all', scores: { accuracy } }],
      })),
    }) as unknown as TaskRun
  const shownFor = (questions: number) =>
    toMarkdown(comparisonBlocks(compareRuns(run(0, questions), run(1, questions))))
      .trim()
      .split('\n')
      .at(-1)
  // Of 12 independent rows: 2 / 2^12.
  t.equal(shownFor(12), '| all | accuracy | 12 | 0.000 | 100.000 | +100.000 (100.000, 100.000) | &lt; 0.001 | &lt; 0.001 |')
  t.equal(shownFor(2), '| all | accuracy | 12 | 0.000 | 100.000 | +100.000 (100.000, 100.000) | &lt; 0.001 | - |', 'no McNemar')
  t.equal(shownFor(1), '| all | accuracy | 12 | 0.000 | 100.000 | +100.000 | - | - |', 'one question tells nothing')
  t.end()
})

t.test('intervals of shares near 0 and 1 hold the truth, and one answer says little', (t) => {
  const share = (values: readonly number[]) => estimateShare(samples(values), 0)
  t.ok(share([1]).low < 0.25 && share([1]).high === 1, 'not 1 (1, 1)')
  t.ok(share([0.5]).low < 0.1 && share([0.5]).high > 0.9)
  t.ok(Number.isNaN(estimate(samples([2.5]), 0).low), 'of a loss, one says nothing')
  for (const truth of [0.02, 0.98]) {
    const random = seededRandom('coverage', truth)
    let held = 0
    for (let run = 0; run < 400; run++) {
      const { low, high } = share(Array.from({ length: 50 }, () => (random() < truth ? 1 : 0)))
      if (low <= truth && truth <= high) held++
    }
    t.ok(held / 400 >= 0.9, `${held} of 400 intervals hold ${truth}`)
  }
  t.end()
})

t.test('rows about the same item widen the interval, in whatever order they came', (t) => {
  const random = seededRandom('clusters')
  // Six rows for each of 30 questions, mostly right or wrong together.
  const rows = Array.from({ length: 30 }, () => (random() < 0.5 ? 1 : 0)).flatMap((known, q) =>
    Array.from({ length: 6 }, () => ({ cluster: `question ${q}`, value: random() < 0.9 ? known : 1 - known })),
  )
  const width = ({ low, high }: { low: number; high: number }) => high - low
  const clustered = estimateShare(rows, 0)
  const alone = estimateShare(samples(rows.map(({ value }) => value)), 0)
  t.equal(clustered.mean, alone.mean)
  t.equal(clustered.n, 180)
  t.ok(width(clustered) > 1.6 * width(alone), `${width(clustered)} and ${width(alone)}`)
  const shuffled = sampleIndices(rows.length, rows.length, seededRandom('order')).flatMap((i) => rows[i] ?? [])
  t.notSame(shuffled, rows)
  t.same(estimateShare(shuffled, 0), clustered)
  t.same(estimate(shuffled, 0), estimate(rows, 0))
  const losses = rows.map(({ cluster, value }, i) => ({ cluster, value: value + 0.1 * i }))
  t.same(estimate([...losses].reverse(), 0), estimate(losses, 0))
  const paired = (list: readonly Sample[]) =>
    pairedBootstrap(
      list.map(({ cluster, value }) => ({ cluster, a: value, b: 1 - value })),
      0,
    )
  t.match(paired(shuffled), { low: paired(rows).low, high: paired(rows).high, p: paired(rows).p })
  t.end()
})

t.test('relative speed: pairs of one item, so that a slow machine does not show; too few tell nothing', (t) => {
  const pairs = Array.from({ length: 40 }, (_, i) => {
    // The machine is up to five times slower now and then, for both of a pair.
    const slow = 1 + (i % 5)
    const noise = 1 + 0.1 * Math.sin(i * 7)
    return { id: `item ${i}`, base: { tokens: 1000, ms: 100 * slow }, other: { tokens: 1000, ms: (50 * slow) / noise } }
  })
  const speed = relativeSpeed(pairs)
  t.ok(speed && speed.low <= 2 && 2 <= speed.high && speed.high - speed.low < 0.2, JSON.stringify(speed))
  t.same(relativeSpeed([...pairs].reverse()), speed, 'whatever the order')
  const outlier = [...pairs.slice(1), { id: 'item 0', base: { tokens: 1000, ms: 100 }, other: { tokens: 1000, ms: 60_000 } }]
  t.ok(Math.abs((relativeSpeed(outlier)?.mean ?? 0) - (speed?.mean ?? 0)) < 0.05, 'one stalled request moves it little')
  t.equal(relativeSpeed(pairs.slice(0, 9)), undefined)
  t.end()
})
