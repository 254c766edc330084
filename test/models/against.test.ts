import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { writeSyntheticCheckpoint } from '../fixtures/synthetic-checkpoint.ts'
import { compareBuilds, formatDistance } from '../../src/inference/worker/tasks/verify.ts'
import { runCli } from '../helpers/cli.ts'
import { build, CEPE, FIXTURES, randomIds, temporaryFolder } from './helpers.ts'
import { withoutVnni } from '../helpers/vnni.ts'

const folder = temporaryFolder(t)
const checkpointDir = await writeSyntheticCheckpoint(join(folder, 'cepe'), CEPE, { seed: 3, deviation: 0.2 })
const samples = [1, 2].map((seed) => ({ contexts: [randomIds(9, seed), randomIds(4, seed + 10)], prompt: randomIds(15, seed + 20) }))
const exact = await build(t, { checkpointDir, dtype: 'f32' })

await t.test('a build is no distance from itself', async (t) => {
  const distance = await compareBuilds(exact.dir, exact.dir, samples)
  t.match(distance, { kind: 'reader', tokens: 30, meanKl: 0, p99Kl: 0, sameChoice: 1, states: 0 })
  t.match(formatDistance(distance), /30 next-token distributions: KL divergence 0/)
})

await t.test('fewer bits are further away', { skip: withoutVnni }, async (t) => {
  const of = async (dtype: 'int8' | 'int4') => {
    const distance = await compareBuilds((await build(t, { checkpointDir, dtype })).dir, exact.dir, samples)
    if (distance.kind !== 'reader') throw new Error('a reader is needed')
    return distance
  }
  const [eight, four] = [await of('int8'), await of('int4')]
  t.ok(eight.meanKl > 0 && eight.meanKl < four.meanKl && eight.states < four.states)
  t.ok(eight.p99Kl >= eight.meanKl)
})

await t.test('a rotary basis that depends on the length of the text is compared too', async (t) => {
  const { dir } = await build(t, { checkpointDir, dtype: 'f32', rope: { rope: 'dynamic:2', window: 512 } })
  t.match(await compareBuilds(dir, dir, samples), { kind: 'reader', tokens: 30, meanKl: 0, sameChoice: 1 })
})

await t.test('retrievers by their embeddings, int8 among them', async (t) => {
  const contriever = join(FIXTURES, 'contriever-tiny')
  const [float, eight] = [
    await build(t, { checkpointDir: contriever, dtype: 'f32' }),
    await build(t, { checkpointDir: contriever, dtype: 'int8' }),
  ]
  const distance = await compareBuilds(eight.dir, float.dir, samples)
  if (distance.kind !== 'retriever') throw new Error('a retriever is needed')
  t.equal(distance.texts, 4)
  t.ok(distance.leastCosine > 0.999 && distance.leastCosine < 1, 'near, not equal', { skip: withoutVnni })
  t.match(formatDistance(distance), /4 texts: cosine/)
  await t.rejects(compareBuilds(eight.dir, exact.dir, samples), { code: 'unsupported', message: /different checkpoints/ })
  await t.rejects(compareBuilds(exact.dir, exact.dir, []), { code: 'unsupported', message: /none was given/ })
})

await t.test('cepe build --texts says what the precision costs, and leaves nothing beside the model', async (t) => {
  const dir = t.testdir({ 'lines.txt': 'the ferry leaves at noon\nthe lamp burns\nthe mole is long\n' })
  const texts = join(dir, 'lines.txt')
  const build = (...args: string[]) => runCli(['build', 'test/fixtures/decoders/qwen2', '--out', join(dir, 'model'), ...args])
  const { code, stdout, stderr } = await build('--dtype', 'int8', '--texts', texts)
  t.equal(code, 0, stderr)
  t.match(stdout, /against f32: \d+ next-token distributions: KL divergence .*\nsame most probable token: [\d.]+ %/)
  t.same(readdirSync(dir).sort(), ['lines.txt', 'model'])
  writeFileSync(join(dir, 'latin.txt'), 'K\u00f6ln\n', 'latin1')
  writeFileSync(join(dir, 'blank.txt'), ' \n\n')
  for (const file of ['none.txt', 'latin.txt', 'blank.txt'])
    t.match(await build('--dtype', 'int8', '--texts', join(dir, file)), {
      code: 1,
      stdout: '',
      stderr: `cepe: The texts of --texts cannot be read (${join(dir, file)}): name a text file in UTF-8, with one passage per line.\n`,
    })
  const odd = await build('--dtype', 'int8', '--block-size', '32')
  t.match(odd, { code: 1, stderr: /--block-size is of matrices in 4 bits: choose a --dtype with int4/ }, 'no option without effect')
})
