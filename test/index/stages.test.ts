import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { Embed } from '../../index/contract.ts'
import { STAGES, Stages, type Stage } from '../../index/stages.ts'
import { readPassageFile } from '../../index/read/read.ts'
import { embed, somePassages, tempDir } from './helpers.ts'
import { planned, run } from './ingest/job-helpers.ts'

await t.test('a job tells how far each of its stages is, from its beginning to its end', async (t) => {
  const dir = await tempDir(t)
  await planned(dir, 'j1', somePassages(1200), 300)
  const seen: Stage[] = []
  const questions: Embed = (texts) => embed(texts)
  await run(dir, 'j1', {
    replace: true,
    embedQuestions: questions,
    policy: { exactBelow: 1000, minRecall: 0.9, sample: 8 },
    onProgress: (phase, _, stage) => {
      if (stage !== undefined) seen.push(stage)
      t.equal(stage === undefined, phase !== 'verifying' || seen.length === 0)
    },
  })
  const names = [...new Set(seen.map(({ name }) => name))]
  t.same(names, STAGES, 'in their order')
  for (const name of names) {
    const shares = seen.filter((stage) => stage.name === name).map(({ share }) => share)
    t.equal(shares[0], 0, name)
    t.same(
      shares,
      [...shares].sort((a, b) => a - b),
      `${name} goes forward`,
    )
    t.ok(shares.every((share) => share >= 0 && share <= 1))
  }
})

await t.test('a stage that takes longer than expected goes forward without coming to its end', async (t) => {
  const seen: Stage[] = []
  // By a clock of the test: on a busy machine a report comes late, or none does.
  const now = performance.now.bind(performance)
  const { setInterval } = globalThis
  t.teardown(() => Object.assign(globalThis, { setInterval }) && Object.assign(performance, { now }))
  let time = 0
  let report = (): void => undefined
  performance.now = () => time
  const held = (tick: () => void, everyMs?: number) => {
    report = () => {
      time += everyMs ?? 0
      tick()
    }
    return setInterval(() => undefined, 3_600_000)
  }
  Object.assign(globalThis, { setInterval: held })
  // Expected to take 1.2 s.
  await new Stages((stage) => seen.push(stage)).estimated('taking over changes', 2_400_000, () => {
    for (let i = 0; i < 3; i++) report()
    return Promise.resolve()
  })
  const shares = seen.map(({ share }) => share)
  t.equal(shares[0], 0)
  t.equal(shares.at(-1), 1)
  const estimates = shares.slice(1, -1)
  const [first = 0] = estimates
  t.ok(first > 0.4 && first < 0.7, `after half a second: ${first}`)
  t.ok(estimates.length >= 2 && (estimates.at(-1) ?? 0) > 0.7, 'goes forward')
  t.same(
    estimates,
    [...estimates].sort((a, b) => a - b),
  )
  t.ok(estimates.every((share) => share < 1))
})

t.test('work that fails ends its stage with its own error', async (t) => {
  const seen: Stage[] = []
  const stages = new Stages((stage) => seen.push(stage))
  await t.rejects(
    stages.estimated('indexing words', 10, () => Promise.reject(new Error('no'))),
    { message: 'no' },
  )
  t.same(seen, [{ name: 'indexing words', share: 0 }])
})

t.test('the share of a file that was read ends at all of it', async (t) => {
  const tsv = join(await tempDir(t), 'a.tsv')
  await writeFile(tsv, ['id\ttext', ...somePassages(9000).map(({ id, text }) => `${id}\t${text}`), ''].join('\n'))
  for (const [file, least] of [[tsv, 2] as const, ['test/fixtures/index/passages.parquet', 1] as const]) {
    const shares: number[] = []
    for await (const _ of readPassageFile(file, { onShare: (share) => shares.push(share) }));
    t.ok(shares.length >= least && shares.every((share, i) => share > (shares[i - 1] ?? 0)), `${file}: ${shares.join(' ')}`)
    t.equal(shares.at(-1), 1)
  }
})
