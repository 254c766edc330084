import { cp, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/config.ts'
import { ensureRetriever } from '../../src/service/setup.ts'
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
