import { randomBytes } from 'node:crypto'
import path from 'node:path'
import t from 'tap'
import { messageOf } from '../base/errors.ts'
import { lanceStorageOptions } from '../index/store/object-store/settings.ts'
import { calibrationFiles, hubSettings, loadConfig } from '../src/config.ts'
import { packageRoot } from '../src/package.ts'
import { publicText } from '../src/http/errors/public-text.ts'

t.test('defaults stand, paths are absolute', (t) => {
  const config = loadConfig({}, {})
  t.equal(config.PORT, 8080)
  t.equal(config.HOST, '127.0.0.1')
  t.equal(config.READER_CHECKPOINT, path.join(packageRoot(), 'models/reader/checkpoint/smollm2-135m-qa'))
  t.equal(config.DTYPE, 'int8-blocks', 'the shipped reader')
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

t.test('a folder for all that is made: the shipped model and corpus go there, and into nothing that the user names', (t) => {
  const shipped = loadConfig({}, { CEPE_DATA_DIR: '/data' })
  t.match(shipped, {
    READER_DIR: '/data/models/reader',
    RETRIEVER_DIR: '/data/models/retriever',
    INDEX_DIR: '/data/index',
    KEYS_DIR: '/data/keys',
  })
  t.match(shipped, { READER_CHECKPOINT: /models\/reader\/checkpoint\/smollm2-135m-qa$/, CORPUS: /passages\.tsv$/ })
  const own = loadConfig({}, { CEPE_DATA_DIR: '/data', CEPE_READER_DIR: '/data/models/7b', CEPE_TABLE: 'wiki' })
  t.match(own, { READER_DIR: '/data/models/7b', READER_CHECKPOINT: '', INDEX_DIR: '/data/index', CORPUS: '' })
  const checkpoint = loadConfig({}, { CEPE_DATA_DIR: '/data', CEPE_READER_CHECKPOINT: '/srv/CEPE-LLaMA-2-7B' })
  t.equal(checkpoint.READER_DIR, '/data/models/CEPE-LLaMA-2-7B-f32')
  t.equal(checkpoint.DTYPE, 'f32')
  t.throws(() => loadConfig({}, { CEPE_DATA_DIR: 's3://bucket' }), /CEPE_DATA_DIR must be a folder/)
  t.end()
})

t.test('the shipped retriever is built in int8 on the CPU, any other and any on CUDA in f32', (t) => {
  const shipped = path.join(packageRoot(), 'models/retriever/checkpoint/all-minilm-l6-v2')
  t.match(loadConfig({}, { CEPE_DATA_DIR: '/data' }), { RETRIEVER_CHECKPOINT: shipped, FURTHER_RETRIEVERS: '' })
  const dirOf = (env: Record<string, string>): string => path.basename(loadConfig({}, { CEPE_DATA_DIR: '/data', ...env }).RETRIEVER_DIR)
  t.equal(dirOf({ CEPE_RETRIEVER_CHECKPOINT: shipped }), 'all-minilm-l6-v2-int8')
  t.equal(dirOf({ CEPE_RETRIEVER_CHECKPOINT: shipped, CEPE_PROVIDER: 'cuda' }), 'all-minilm-l6-v2-f32')
  t.equal(dirOf({ CEPE_RETRIEVER_CHECKPOINT: '/srv/all-minilm-l6-v2' }), 'all-minilm-l6-v2-f32')
  t.end()
})

t.test('a refused setting is named as the user has given it', (t) => {
  t.throws(() => loadConfig({}, { PORT: 'abc' }), {
    code: 'config_invalid',
    field: 'PORT',
    message: 'Setting PORT must be a whole number from 0 to 65535 (got "abc").',
  })
  t.throws(() => loadConfig({}, { PORT: '80', CEPE_PORT: 'abc' }), { field: 'CEPE_PORT', message: /^Setting CEPE_PORT must/ })
  const message = 'must be 1 to 64 letters, digits, "-" and "_", a letter first (got "1x").'
  t.throws(() => loadConfig({ TABLE: '1x' }, {}), { field: '--collection', message: `Option --collection ${message}` })
  t.throws(() => loadConfig({ TABLE: undefined }, { CEPE_TABLE: '1x' }), { field: 'CEPE_TABLE', message: `Setting CEPE_TABLE ${message}` })
  t.end()
})

t.test('what is wrong is named, and refused rather than bent into something else', (t) => {
  const cases: [Record<string, string>, RegExp][] = [
    [{ CEPE_PORT: '99999' }, /^Setting CEPE_PORT must be a whole number from 0 to 65535 \(got "99999"\)\.$/],
    [{ CEPE_PORT: '80.5' }, /CEPE_PORT must be a whole number/],
    [{ CEPE_PORT: ' ' }, /CEPE_PORT must be a whole number/],
    [{ CEPE_PORT: '0x50' }, /CEPE_PORT must be a whole number/],
    [{ CEPE_PORT: '1e3' }, /CEPE_PORT must be a whole number/],
    [{ CEPE_MIN_RECALL: '' + 1.5 }, /CEPE_MIN_RECALL must be a number from 0 to 1/],
    [{ CEPE_CPU_FALLBACK: 'yes' }, /CEPE_CPU_FALLBACK must be true or false/],
    [{ CEPE_DTYPE: 'fp8' }, /CEPE_DTYPE must be one of f32, int8, int8-blocks, int8\+int4, int4/],
    [{ CEPE_HOST: ' ' }, /CEPE_HOST must not be blank/],
    [{ CEPE_PAGE_TITLE: 'x'.repeat(101) }, /CEPE_PAGE_TITLE must not have more than 100 characters/],
    [{ CEPE_PROT: '1' }, /Unknown setting CEPE_PROT/],
    [{ CEPE_TABLE: '../x' }, /CEPE_TABLE must be 1 to 64 letters, digits, .* a letter first/],
    [{ CEPE_TRUST_PROXY: 'true' }, /CEPE_TRUST_PROXY must be a number of proxies, or a list/],
    [{ CEPE_TRUST_PROXY: '10.0.0.0/33' }, /CEPE_TRUST_PROXY/],
    [{ CEPE_FETCH: '*.a.example' }, /CEPE_FETCH must be a list of hosts as[^]*, without wildcards \(got "\*\.a\.example"\)/],
    [{ CEPE_CORS_ORIGINS: 'https://*.a.example' }, /CEPE_CORS_ORIGINS must be a list of origins[^]*, without wildcards/],
    [{ CEPE_ALLOWED_HOSTS: 'a.example:8080' }, /CEPE_ALLOWED_HOSTS must be a list of host names, without scheme and port/],
    [{ CEPE_ALLOWED_HOSTS: 'a.example, https://b.example' }, /CEPE_ALLOWED_HOSTS/],
  ]
  for (const [env, message] of cases) t.throws(() => loadConfig({}, env), { code: 'config_invalid', message }, JSON.stringify(env))
  t.throws(() => loadConfig({ PORT: '' }, {}), /CEPE_PORT/, 'an empty option is no number either')
  t.throws(() => loadConfig({ HOST: '' }, {}), /CEPE_HOST must not be blank/)
  for (const proxies of ['', '1', 'loopback', '10.0.0.0/8, ::1'])
    t.equal(loadConfig({}, { CEPE_TRUST_PROXY: proxies }).TRUST_PROXY, proxies)
  t.end()
})

t.test('a key that stands for one in an example is refused, and not shown', (t) => {
  for (const key of [
    'replace-this-key-before-applying',
    'CHANGE_ME_CHANGE_ME',
    'changeme12345678',
    'your-admin-key-here',
    'placeholder-placeholder',
    'insert a key here',
  ])
    t.throws(
      () => loadConfig({}, { CEPE_ADMIN_KEY: key }),
      {
        code: 'config_invalid',
        field: 'CEPE_ADMIN_KEY',
        message: /^Setting CEPE_ADMIN_KEY is a placeholder[^:]*: set a random key of your own/,
      },
      key,
    )
  for (const key of ['correct horse battery', 'a-key-of-this-test', randomBytes(32).toString('base64')])
    t.equal(loadConfig({}, { CEPE_ADMIN_KEY: key }).ADMIN_KEY, key)
  t.end()
})

t.test('a folder .env, as of a virtual environment, is no file of settings', (t) => {
  const before = process.cwd()
  process.chdir(t.testdir({ '.env': {} }))
  t.teardown(() => process.chdir(before))
  t.doesNotThrow(() => loadConfig())
  t.end()
})

t.test('a link .env whose target is missing leaves out no settings in silence', (t) => {
  const cwd = process.cwd()
  process.chdir(t.testdir({ '.env': t.fixture('symlink', 'unmounted/.env') }))
  t.teardown(() => process.chdir(cwd))
  t.throws(() => loadConfig(), { code: 'ENOENT', message: /\.env/ })
  t.end()
})

t.test('the error of a setting shows no credentials of an address', (t) => {
  const before = process.env['HF_ENDPOINT']
  t.teardown(() => (before === undefined ? delete process.env['HF_ENDPOINT'] : (process.env['HF_ENDPOINT'] = before)))
  process.env['HF_ENDPOINT'] = 'ftp://ann:hunter2@hub.example'
  const errors = [
    [() => hubSettings(), 'HF_ENDPOINT must be an http or https address (got "ftp://hub.example").'],
    [() => loadConfig({}, { CEPE_INDEX_DIR: 's3://ann:hunter2@bucket/index', AWS_REGION: 'a' }), '(got "s3://bucket/index").'],
    [() => loadConfig({}, { CEPE_TRACES_URL: 'ftp://ann:hunter2@otel.example' }), '(got "ftp://otel.example").'],
    [() => loadConfig({}, { AWS_ENDPOINT_URL: 'ftp://ann:hunter2@s3.example', CEPE_INDEX_DIR: 's3://bucket/a' }), ''],
  ] as const
  for (const [work, shown] of errors) {
    let message = ''
    try {
      work()
    } catch (error) {
      message = messageOf(error)
    }
    t.ok(message !== '' && message.includes(shown), message)
    t.notMatch(message, /hunter2|ann:/)
  }
  t.end()
})

t.test('an index in an object store: what it needs is asked for, and no key is shown', (t) => {
  const whole = {
    CEPE_INDEX_DIR: 's3://bucket/some/index/',
    CEPE_JOBS_DIR: '/srv/jobs',
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'an-access-key',
    AWS_SECRET_ACCESS_KEY: 'hunter2',
  }
  const config = loadConfig({}, whole)
  t.equal(config.INDEX_DIR, 's3://bucket/some/index')
  t.match(lanceStorageOptions(), { aws_region: 'eu-central-1', aws_secret_access_key: 'hunter2' })
  t.equal(calibrationFiles(config).own, undefined)
  const shown = publicText(config)
  t.equal(shown('s3://bucket/some/index/x of s3://bucket'), '$CEPE_INDEX_DIR/x of $CEPE_INDEX_DIR')
  t.equal(loadConfig({}, { ...whole, CEPE_ROLE: 'replica', CEPE_JOBS_DIR: '' }).JOBS_DIR, undefined)
  const cases: [Record<string, string>, RegExp][] = [
    [{ CEPE_INDEX_DIR: 's3://' }, /use s3:\/\/bucket\/prefix/],
    [{ CEPE_INDEX_DIR: 's3://Bucket' }, /use s3:\/\/bucket\/prefix/],
    [{ CEPE_INDEX_DIR: 's3://bucket/../x' }, /use s3:\/\/bucket\/prefix/],
    [{ CEPE_INDEX_DIR: 's3://bucket/a b' }, /use s3:\/\/bucket\/prefix/],
    [{ CEPE_INDEX_DIR: 'gs://bucket/index' }, /gs:\/\/, which is not supported/],
    [{ CEPE_INDEX_DIR: 'az://bucket/index' }, /az:\/\/, which is not supported/],
    [{ CEPE_JOBS_DIR: '' }, /CEPE_JOBS_DIR must be set to a folder/],
    [{ CEPE_MIRROR_DIR: 's3://bucket/copy' }, /CEPE_MIRROR_DIR must be a folder/],
    [{ CEPE_STATE_DISK_MB: '10' }, /CEPE_STATE_DIR must be set to a folder/],
    [{ AWS_REGION: '' }, /set AWS_REGION/],
    [{ AWS_SECRET_ACCESS_KEY: '' }, /belong together/],
    [{ AWS_ENDPOINT_URL: 'minio:9000' }, /AWS_ENDPOINT_URL must be an http or https address/],
    [{ AWS_ENDPOINT_URL: 'http://minio:9000' }, /AWS_ALLOW_HTTP=true/],
  ]
  for (const [env, message] of cases) {
    t.throws(() => loadConfig({}, { ...whole, ...env }), { code: 'config_invalid', message }, JSON.stringify(env))
    try {
      loadConfig({}, { ...whole, ...env })
    } catch (error) {
      t.notMatch(String(error), /hunter2|an-access-key/)
    }
  }
  t.end()
})

t.test('a path that only a shell would expand is refused: a folder of that name would be used', (t) => {
  const paths = ['~/index', '$HOME/index', '"/srv/index"', "'/srv/index'", '/srv/index\n', ' /srv/index']
  for (const name of ['INDEX_DIR', 'READER_DIR', 'RERANKER_DIR', 'IMPORT_DIR', 'DATA_DIR', 'CORPUS', 'FEEDBACK', 'FURTHER_RETRIEVERS'])
    for (const given of paths) {
      const message = `Setting CEPE_${name} must be a path in full, without ~, variables, quotes and white space at its ends (got ${JSON.stringify(given)}).`
      t.throws(() => loadConfig({}, { [`CEPE_${name}`]: given }), { code: 'config_invalid', field: `CEPE_${name}`, message }, name + given)
    }
  t.throws(() => loadConfig({}, { CEPE_FURTHER_RETRIEVERS: '/srv/a, ~/b' }), /CEPE_FURTHER_RETRIEVERS must be a path in full/)
  for (const given of ['./~', '/srv/my index', '/srv/a~b$c', 'ä/ö'])
    t.equal(loadConfig({}, { CEPE_INDEX_DIR: given }).INDEX_DIR, path.resolve(given), given)
  t.end()
})

t.test('a key that no header can carry is refused: each request with it would be 401', (t) => {
  for (const key of [
    'a-key-of-this-test\n',
    ' a-key-of-this-test',
    '"a-key-of-this-test"',
    'ein-schlüssel-für-alle',
    'a-key-of\tthis-test',
  ])
    t.throws(() => loadConfig({}, { CEPE_ADMIN_KEY: key }), {
      code: 'config_invalid',
      field: 'CEPE_ADMIN_KEY',
      message: /^Setting CEPE_ADMIN_KEY must be of ASCII letters[^]*\(the value is not shown\)\.$/,
    })
  t.end()
})

t.test('a key is never shown, however wrong', (t) => {
  try {
    loadConfig({}, { CEPE_ADMIN_KEY: 'hunter2' })
    t.fail('a short key is refused')
  } catch (error) {
    t.match(String(error), /CEPE_ADMIN_KEY must not have fewer than 16 characters/)
    t.notMatch(String(error), /hunter2/)
  }
  t.end()
})

t.test('on CUDA readers are built in half precision; what it leaves to the CPU is refused with the remedy', (t) => {
  const cuda = { CEPE_PROVIDER: 'cuda' }
  t.equal(loadConfig({}, cuda).DTYPE, 'f16', 'the shipped reader')
  const own = loadConfig({}, { ...cuda, CEPE_READER_CHECKPOINT: '/srv/CEPE-LLaMA-2-7B' })
  t.equal(own.DTYPE, 'f16')
  t.equal(path.basename(own.READER_DIR), 'CEPE-LLaMA-2-7B-f16')
  t.equal(loadConfig({}, { ...cuda, CEPE_DTYPE: 'f16-int4' }).DTYPE, 'f16-int4')
  for (const dtype of ['f32', 'int8', 'int8-blocks', 'int8+int4', 'int4'])
    t.throws(() => loadConfig({}, { ...cuda, CEPE_DTYPE: dtype }), {
      code: 'config_invalid',
      field: 'CEPE_DTYPE',
      message: /CEPE_DTYPE is .*: set f16 or f16-int4, or CEPE_PROVIDER=cpu/,
    })
  t.equal(loadConfig({}, { ...cuda, CEPE_DTYPE: 'f32', CEPE_READER_DIR: '/srv/built' }).DTYPE, 'f32', 'a built reader says its own')
  t.equal(loadConfig({}, { ...cuda, CEPE_DTYPE: 'f32', CEPE_ROLE: 'indexer' }).DTYPE, 'f32', 'an indexer has no reader')
  t.equal(loadConfig({}, { CEPE_DTYPE: 'f32' }).DTYPE, 'f32')
  t.end()
})
