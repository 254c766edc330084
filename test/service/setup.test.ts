import { cp, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/config.ts'
import { ensureRetriever } from '../../src/service/setup.ts'
import { createReader } from '../../src/inference/pool/models/create-reader.ts'
import { pretendCuda, withoutPretendCuda } from '../helpers/pretend-cuda.ts'
import { builtFixture, fixtureDir } from '../fixtures/built-fixture.ts'

t.test('a model is built again from its own checkpoint, and never replaced by the model of another one', async (t) => {
  const built = await builtFixture(t, 'contriever-tiny')
  const own = path.join(path.dirname(built), 'checkpoint')
  const other = path.join(path.dirname(built), 'other')
  await cp(fixtureDir('contriever-tiny-bin') ?? '', other, { recursive: true })
  await cp(path.join(own, 'tokenizer.json'), path.join(other, 'tokenizer.json'))
  const manifest = (): Promise<string> => readFile(path.join(built, 'manifest.json'), 'utf8')
  const ensure = (checkpoint: string): Promise<void> =>
    ensureRetriever(loadConfig({ RETRIEVER_CHECKPOINT: checkpoint, RETRIEVER_DIR: built }, {}), () => ({
      update: () => undefined,
      stop: () => undefined,
    }))

  const before = await manifest()
  const changed = await readFile(path.join(other, 'tokenizer.json'), 'utf8')
  await writeFile(path.join(other, 'tokenizer.json'), changed.replace('"w1"', '"one"'))
  await t.rejects(ensure(other), {
    code: 'config_invalid',
    field: 'CEPE_RETRIEVER_DIR',
    message: /built from checkpoint, not from .*other/,
  })
  t.equal(await manifest(), before)

  await ensure(own)
  t.equal(await manifest(), before, 'nothing has changed')
  await writeFile(path.join(own, 'tokenizer.json'), changed.replace('"w1"', '"one"'))
  await ensure(own)
  t.not(await manifest(), before, 'its checkpoint has')

  await writeFile(path.join(built, 'manifest.json'), before.replace(/"builder_version": \d+/, '"builder_version": 99'))
  const alone = ensureRetriever(loadConfig({ RETRIEVER_DIR: built }, {}), () => ({ update: () => undefined, stop: () => undefined }))
  await t.rejects(alone, { code: 'model_invalid', message: /is of builder version 99, this one serves/ }, 'why it cannot be served is said')
})

// Device 63 is on no machine.
t.test('a CUDA device that cannot be used is found before a model is built, unless the CPU may take its place', async (t) => {
  const dir = t.testdir({})
  const source = fixtureDir('contriever-tiny') ?? ''
  const settings = { RETRIEVER_CHECKPOINT: source, RETRIEVER_DIR: path.join(dir, 'built'), PROVIDER: 'cuda', DEVICE_ID: 63 }
  const begun: string[] = []
  const ensure = (given: Parameters<typeof loadConfig>[0]): Promise<void> =>
    ensureRetriever(loadConfig({ ...settings, ...given }, {}), (name) => {
      begun.push(name)
      return { update: () => undefined, stop: () => undefined }
    })
  await t.rejects(ensure({}), {
    code: 'provider_unavailable',
    message: /^CUDA device 63 cannot be used: .*`cepe doctor` lists what CUDA needs/,
  })
  t.same(begun, [])
  await ensure({ CPU_FALLBACK: true })
  t.equal(begun.length, 1)
  await ensure({})
  t.equal(begun.length, 1, 'nothing is left to build')
})

t.test('a missing cuDNN is found when a process loads its model, not by the first question', { skip: withoutPretendCuda() }, async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa', 'f16')
  const before = process.env['LD_LIBRARY_PATH']
  t.teardown(() => {
    if (before === undefined) delete process.env['LD_LIBRARY_PATH']
    else process.env['LD_LIBRARY_PATH'] = before
  })
  process.env['LD_LIBRARY_PATH'] = await pretendCuda(path.join(path.dirname(modelDir), 'libraries'))
  await t.rejects(createReader({ modelDir, provider: { name: 'cuda', deviceId: 0 } }), {
    code: 'provider_unavailable',
    message: /^CUDA device 0 cannot be used: .*cuDNN 9 for CUDA 13/,
  })
})
