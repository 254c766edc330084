import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { ConfigSchema, loadConfig, packageRoot } from '../src/config.ts'

t.test('defaults stand, paths are absolute', (t) => {
  const config = loadConfig({}, {})
  t.equal(config.PORT, 8080)
  t.equal(config.HOST, '127.0.0.1')
  t.equal(config.READER_CHECKPOINT, path.join(packageRoot(), 'models/tiny/checkpoint/cepe'))
  t.equal(config.ADMIN_KEY, undefined)
  t.end()
})

t.test("variables are converted, options win over them, relative paths are the user's", (t) => {
  const config = loadConfig(
    { PORT: '9000' },
    { CEPE_PORT: '1', CEPE_CPU_FALLBACK: 'true', CEPE_INDEX_DIR: 'mine', CEPE_CORPUS: '', OTHER: 'x' },
  )
  t.equal(config.PORT, 9000)
  t.equal(config.CPU_FALLBACK, true)
  t.equal(config.INDEX_DIR, path.resolve('mine'))
  t.equal(config.CORPUS, '', 'an empty variable switches the corpus off')
  t.end()
})

t.test("the shipped model and corpus never go into a folder of the user's", (t) => {
  const own = loadConfig({}, { CEPE_READER_DIR: '/srv/cepe-7b', CEPE_INDEX_DIR: '/srv/wiki' })
  t.equal(own.READER_CHECKPOINT, '')
  t.equal(own.CORPUS, '')
  const checkpoint = loadConfig({}, { CEPE_READER_CHECKPOINT: '/srv/CEPE-LLaMA-2-7B', CEPE_DTYPE: 'int4' })
  t.equal(checkpoint.READER_DIR, path.join(packageRoot(), 'models/built/CEPE-LLaMA-2-7B-int4'))
  t.end()
})

t.test('what is wrong is named', (t) => {
  t.throws(() => loadConfig({}, { CEPE_PORT: '99999' }), /CEPE_PORT must be <= 65535/)
  t.throws(() => loadConfig({}, { CEPE_DTYPE: 'fp8' }), /CEPE_DTYPE/)
  t.throws(() => loadConfig({}, { CEPE_ADMIN_KEY: 'short' }), /CEPE_ADMIN_KEY/)
  t.throws(() => loadConfig({}, { CEPE_PROT: '1' }), /Unknown setting CEPE_PROT/)
  t.throws(() => loadConfig({}, { CEPE_TABLE: '../x' }), /CEPE_TABLE/)
  t.end()
})

t.test('the README lists every setting with its default', (t) => {
  const readme = readFileSync(path.join(packageRoot(), 'README.md'), 'utf8')
  for (const [name, schema] of Object.entries(ConfigSchema.properties)) {
    const row = readme.split('\n').find((line) => line.startsWith(`| \`CEPE_${name}\` |`))
    t.ok(row, name)
    const value: unknown = 'default' in schema ? schema.default : undefined
    if (value !== undefined && name !== 'THREADS') t.ok(row?.includes(`\`${JSON.stringify(value).replaceAll('"', '')}\``), name)
  }
  t.end()
})
