import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { buildModel, isBuiltFrom } from '../../models/build.ts'
import { modelId, type ModelManifest } from '../../models/manifest.ts'

const CHECKPOINT = 'models/tiny/checkpoint/cepe'

t.test("a model's name follows its block size, the precision of its output layer, and its tokenizer", async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-model-id-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const swapped = path.join(dir, 'swapped')
  await cp(CHECKPOINT, swapped, { recursive: true })
  const tokenizer = JSON.parse(await readFile(path.join(swapped, 'tokenizer.json'), 'utf8')) as Record<string, unknown>
  // A text in front of which no space is put is tokenised otherwise; the weights are the same.
  tokenizer['normalizer'] = null
  await writeFile(path.join(swapped, 'tokenizer.json'), JSON.stringify(tokenizer))

  const build = (name: string, checkpointDir: string, int4: { blockSize: 32 | 128; lmHead: 'int8' | 'float' }): Promise<ModelManifest> =>
    buildModel({ checkpointDir, outDir: path.join(dir, name), dtype: 'int4', int4 })
  const first = await build('a', CHECKPOINT, { blockSize: 32, lmHead: 'int8' })
  const others = [
    await build('block', CHECKPOINT, { blockSize: 128, lmHead: 'int8' }),
    await build('head', CHECKPOINT, { blockSize: 32, lmHead: 'float' }),
    await build('tokenizer', swapped, { blockSize: 32, lmHead: 'int8' }),
  ]
  t.match(modelId(first), /^cepe@[0-9a-f]{12}-int4-[0-9a-f]{8}$/)
  t.equal(new Set([first, ...others].map(modelId)).size, 4)
  t.equal(modelId(await build('again', CHECKPOINT, { blockSize: 32, lmHead: 'int8' })), modelId(first), 'a build repeats')

  t.equal(await isBuiltFrom(first, CHECKPOINT), true)
  t.equal(await isBuiltFrom(first, swapped), false, 'a swapped tokenizer is noticed at the next start')
})
