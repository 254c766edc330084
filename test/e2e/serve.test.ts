import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { runCli, startServer } from '../helpers/cli.ts'
import { tinyService } from '../helpers/service-settings.ts'

const CORPUS = [
  ['1', 'Canberra is the capital of Australia. It was founded in 1913 and lies between Sydney and Melbourne.', 'Canberra'],
  ['2', 'Australia, an independent country since 1901, is governed from Canberra, its capital. English is spoken there.', 'Australia'],
  ['3', 'The Orinoco rises in the Parima Mountains and empties into the Atlantic Ocean in Venezuela.', 'Orinoco'],
  ['4', 'Giuseppe Verdi was born in Le Roncole in 1813. His opera Aida was first performed in Cairo.', 'Giuseppe Verdi'],
  ['5', 'Calcium, discovered in 1808, has the symbol Ca and is used in cement.', 'Calcium'],
  ['6', 'Volleyball is played by two teams of 6 players. Its Olympic debut came in 1964.', 'volleyball'],
]

t.test('the service from a corpus file to an answer, a restart and a stop', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-e2e-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const corpus = path.join(dir, 'corpus.tsv')
  await writeFile(corpus, ['id\ttext\ttitle', ...CORPUS.map((row) => row.join('\t'))].join('\n'))
  const env = tinyService(dir, { CEPE_JOBS_DIR: path.join(dir, 'jobs'), CEPE_CORPUS: corpus, CEPE_KEYS_DIR: path.join(dir, 'keys') })
  const server = await startServer(env)
  t.match(server.stderr(), /Building.*reader/s)
  t.match(server.stderr(), new RegExp(`curl -s ${server.url}/v1/answer`))

  const ask = async (body: unknown) => {
    const response = await fetch(`${server.url}/v1/answer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const answered = await ask({ question: 'what is the capital of australia', k: 5, k_decoder: 2 })
  t.equal(answered.status, 200)
  t.match(answered.body, {
    answer: String,
    confidence: Number,
    evidence: [{ role: 'decoder', attention: null }, { role: 'decoder' }, { role: 'encoder', attention: Number }, {}, {}],
    usage: { context_tokens: Number, generated_tokens: Number },
    index: { table: 'passages', passages: CORPUS.length },
  })
  const evidence = answered.body['evidence'] as { title: string; attention: number | null }[]
  t.ok(
    evidence.slice(0, 2).some(({ title }) => title === 'Canberra' || title === 'Australia'),
    'retrieval finds the passage',
  )
  const shares = evidence.flatMap(({ attention }) => (attention === null ? [] : [attention]))
  t.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1) < 1e-3, 'attention shares sum to one')

  const busy = ask({ question: 'who composed aida', k: 6, k_decoder: 0, max_new_tokens: 25 })
  const health = await fetch(`${server.url}/healthz`)
  t.equal(health.status, 200, 'healthz answers while a question is being answered')
  t.equal((await busy).status, 200)
  const ready = await fetch(`${server.url}/readyz`)
  t.equal(ready.status, 200)
  const { checks } = (await ready.json()) as { checks: { name: string }[] }
  t.same(
    checks.map(({ name }) => name),
    ['reader', 'embedder', 'index', 'question', 'keys'],
  )

  const refused = await ask({ question: 'x', k: 100_000 })
  t.equal(refused.status, 400)
  t.match(refused.body, { error: { code: 'invalid_request', field: 'k' } })
  t.equal(await server.stop(), 0, 'SIGTERM ends it cleanly')

  const again = await startServer(env)
  t.notMatch(again.stderr(), /Building|Indexing/, 'a later start builds nothing')
  t.equal(await again.stop(), 0)
  t.same(
    (await readdir(dir)).filter((name) => name.includes('partial')),
    [],
    'nothing half-written is left',
  )
})

t.test('commands refuse bad input with one line and exit code 1', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-cli-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  await writeFile(path.join(dir, 'config.json'), '{"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2"}')
  const cases: [string[], Record<string, string>, RegExp][] = [
    [['build', path.join(dir, 'missing'), '--out', path.join(dir, 'out')], {}, /missing/],
    [['build', dir, '--out', path.join(dir, 'out')], {}, /GPT2LMHeadModel/],
    [['verify', path.join(dir, 'nothing'), '--golden', 'x.safetensors'], {}, /manifest\.json/],
    [['serve'], { CEPE_PORT: 'eighty' }, /CEPE_PORT must be a whole number/],
    [['serve'], { CEPE_PROT: '80' }, /Unknown setting CEPE_PROT/],
    [['serve'], { CEPE_HOST: '0.0.0.0', CEPE_KEYS_DIR: path.join(dir, 'keys') }, /Everyone who reaches 0\.0\.0\.0 could ask: make a key/],
    [['serve'], { CEPE_ADMIN_KEY: 'replace-this-key-before-applying' }, /CEPE_ADMIN_KEY is a placeholder/],
    [['serve'], { CEPE_CORS_ORIGINS: 'https://a.example/' }, /CEPE_CORS_ORIGINS must be a list of origins/],
    [['ask', 'x', '--k', 'many'], {}, /It must be a whole number from 0 to 200/],
  ]
  const finished = await Promise.all(cases.map(([args, env]) => runCli(args, env)))
  for (const [i, [args, , message]] of cases.entries()) {
    const { code = -1, stderr = '' } = finished[i] ?? {}
    t.equal(code, 1, args.join(' '))
    t.match(stderr, message)
    t.equal(stderr.trim().split('\n').length, 1, `one line: ${stderr}`)
  }
  t.same(await readdir(dir), ['config.json'], 'nothing is left behind')
})
