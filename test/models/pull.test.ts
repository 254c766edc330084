import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { pullCheckpoint } from '../../models/pull/pull.ts'
import { hubSettings } from '../../src/config.ts'
import { temporaryFolder } from './helpers.ts'

const REPOSITORY = 'someone/tiny'
const [FIRST, SECOND] = ['1'.repeat(40), '2'.repeat(40)]

interface HubState {
  commit: string
  files: Map<string, Buffer>
  /** Requests for a file's content that end after so many bytes, then so many, ... */
  cuts: number[]
  status: number | null
  token: string | null
  /** Called for each piece of a body of weights without an end. */
  endless?: () => number
  /** Path and range of every request for content. */
  asked: string[]
}

function describe(path: string, content: Buffer): object {
  const large = path.endsWith('.safetensors') || path.endsWith('.bin')
  const oid = createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')
  return {
    type: 'file',
    path,
    size: content.length,
    oid,
    ...(large && { lfs: { oid: createHash('sha256').update(content).digest('hex'), size: content.length, pointerSize: 134 } }),
  }
}

/** Pieces of 64 KiB after which an endless body ends, so that a client that reads all of them fails its test. */
const MOST_PIECES = 2000

function sendEndless(count: () => number, response: ServerResponse): void {
  const piece = Buffer.alloc(65_536, 'x')
  // The client is in this process: it needs its turn to leave.
  const more = (): void => {
    if (count() >= MOST_PIECES) response.end()
    else if (!response.destroyed) response.write(piece, () => setTimeout(more, 1))
  }
  more()
}

function sendContent(state: HubState, path: string, request: IncomingMessage, response: ServerResponse): void {
  const content = state.files.get(path)
  state.asked.push(`${path} ${request.headers.range ?? ''}`.trim())
  if (!content) return void response.writeHead(404).end()
  const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
  const rest = content.subarray(from)
  if (state.endless && path.endsWith('.safetensors')) return sendEndless(state.endless, response)
  response.writeHead(from > 0 ? 206 : 200, { 'content-length': rest.length })
  const cut = path.endsWith('.safetensors') ? state.cuts.shift() : undefined
  if (cut === undefined) return void response.end(rest)
  response.write(rest.subarray(0, cut), () => setTimeout(() => response.destroy(), 20))
}

/** A hub in small, on loopback: the routes that a pull asks. */
async function startHub(t: Test, state: HubState): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://hub')
    if (state.status !== null) return void response.writeHead(state.status).end('{"error":"no"}')
    if (state.token !== null && request.headers.authorization !== `Bearer ${state.token}`)
      return void response.writeHead(401).end('{"error":"gated"}')
    if (url.pathname.startsWith(`/api/models/${REPOSITORY}/tree/`)) {
      response.writeHead(200, { 'content-type': 'application/json' })
      const all = url.searchParams.get('recursive') === 'true'
      const listed = [...state.files].filter(([path]) => all || !path.includes('/'))
      return void response.end(JSON.stringify(listed.map(([path, content]) => describe(path, content))))
    }
    if (url.pathname.startsWith(`/api/models/${REPOSITORY}`)) {
      response.writeHead(200, { 'content-type': 'application/json' })
      return void response.end(
        JSON.stringify({
          _id: 'x',
          id: REPOSITORY,
          modelId: REPOSITORY,
          sha: state.commit,
          private: false,
          gated: false,
          downloads: 0,
          likes: 0,
          lastModified: '2026-01-01T00:00:00.000Z',
        }),
      )
    }
    const content = /^\/someone\/tiny\/resolve\/[^/]+\/(.+)$/.exec(url.pathname)?.[1]
    if (content !== undefined) return sendContent(state, decodeURIComponent(content), request, response)
    response.writeHead(404).end('{"error":"not found"}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const WEIGHTS = Buffer.alloc(300_000, 'weights ')

function freshState(): HubState {
  return {
    commit: FIRST,
    files: new Map([
      ['README.md', Buffer.from('# not needed')],
      ['config.json', Buffer.from('{"architectures": ["LlamaForCausalLM"]}')],
      ['tokenizer.json', Buffer.from('{}')],
      ['model.safetensors', WEIGHTS],
      ['pytorch_model.bin', Buffer.from('the same in another form')],
      ['.gitattributes', Buffer.from('')],
    ]),
    cuts: [],
    status: null,
    token: null,
    asked: [],
  }
}

async function setUp(t: Test, change: (state: HubState) => void = () => undefined) {
  const state = freshState()
  change(state)
  const url = await startHub(t, state)
  const outDir = join(temporaryFolder(t), 'checkpoint')
  const pull = (options: Partial<Parameters<typeof pullCheckpoint>[0]> = {}) =>
    pullCheckpoint({ hub: { url, token: null }, repository: REPOSITORY, revision: 'main', outDir, pauseMs: 1, ...options })
  return { state, url, outDir, pull }
}

await t.test("a retriever's files of sentence-transformers come along, those in folders too", async (t) => {
  const declared = ['modules.json', '1_Pooling/config.json', 'config_sentence_transformers.json', 'sentence_bert_config.json']
  const { outDir, pull } = await setUp(t, ({ files }) => {
    for (const name of [...declared, 'chat_template.jinja', '2_Normalize/config.json']) files.set(name, Buffer.from('{}'))
  })
  t.same(new Set((await pull()).files), new Set(['config.json', 'tokenizer.json', 'chat_template.jinja', ...declared, 'model.safetensors']))
  t.equal(readFileSync(join(outDir, '1_Pooling/config.json'), 'utf8'), '{}')
})

await t.test('only the files that a build needs, whole and checked', async (t) => {
  const { outDir, pull } = await setUp(t)
  const seen: number[] = []
  const pulled = await pull({ onProgress: ({ done, total }) => seen.push(done / total) })
  t.same(readdirSync(outDir).sort(), ['config.json', 'model.safetensors', 'tokenizer.json'])
  t.ok(readFileSync(join(outDir, 'model.safetensors')).equals(WEIGHTS))
  t.match(pulled, { commit: FIRST, files: ['config.json', 'tokenizer.json', 'model.safetensors'] })
  t.equal(seen.at(-1), 1)
  t.notOk(existsSync(`${outDir}.partial`))
  await t.rejects(pull(), { code: 'conflict', message: /exists already/ })
})

await t.test('a link without a target is no place for a checkpoint: said before the first byte', async (t) => {
  const { state, outDir, pull } = await setUp(t)
  symlinkSync('nowhere', outDir)
  await t.rejects(pull(), { code: 'conflict', message: `${outDir} exists already; choose another folder with --out, or remove it.` })
  t.same(state.asked, [])
})

await t.test('shards of torch files with their index', async (t) => {
  const { outDir, pull } = await setUp(t, ({ files }) => {
    for (const name of ['model.safetensors', 'pytorch_model.bin']) files.delete(name)
    files.set('pytorch_model.bin.index.json', Buffer.from('{}'))
    for (const shard of [1, 2]) files.set(`pytorch_model-0000${shard}-of-00002.bin`, Buffer.from(`shard ${shard}`))
  })
  await pull()
  t.same(readdirSync(outDir).filter((name) => name.startsWith('pytorch')).length, 3)
})

await t.test('cut connections: it goes on at the byte where it stopped', async (t) => {
  const { state, outDir, pull } = await setUp(t, (state) => {
    state.cuts = [100_000, 0, 50_000]
  })
  await pull()
  t.ok(readFileSync(join(outDir, 'model.safetensors')).equals(WEIGHTS))
  const ranges = state.asked.filter((asked) => asked.startsWith('model.safetensors'))
  t.equal(ranges[0], 'model.safetensors')
  t.equal(ranges.length, 4)
  for (const range of ranges.slice(1)) t.match(range, /bytes=[1-9]\d*-$/)
})

await t.test('a pull that gave up keeps what it has; repeated, it goes on', async (t) => {
  const { state, outDir, pull } = await setUp(t, (state) => {
    state.cuts = [120_000, 0, 0, 0, 0, 0, 0, 0, 0]
  })
  await t.rejects(pull(), { code: 'hub_unreachable', message: /Repeat the command to resume/ })
  t.notOk(existsSync(outDir), 'nothing half-installed')
  state.cuts = []
  state.asked = []
  await pull()
  t.match(state.asked, [/^model\.safetensors bytes=\d{5,}-$/], 'the small files are there already')
  t.ok(readFileSync(join(outDir, 'model.safetensors')).equals(WEIGHTS))
})

await t.test('a revision that changed since is named, and fetched anew', async (t) => {
  const { state, outDir, pull } = await setUp(t, (state) => {
    state.cuts = Array.from({ length: 9 }, () => 0)
  })
  await t.rejects(pull(), { code: 'hub_unreachable' })
  state.cuts = []
  state.commit = SECOND
  state.files.set('model.safetensors', Buffer.from('other weights'))
  const warnings: string[] = []
  t.match(await pull({ onWarning: (message) => warnings.push(message) }), { commit: SECOND })
  t.match(warnings, [/unfinished pull of another revision.*222222222222/])
  t.equal(readFileSync(join(outDir, 'model.safetensors'), 'utf8'), 'other weights')
})

await t.test('two pulls into one folder: the second is refused, and neither spoils the other', async (t) => {
  const { outDir, pull } = await setUp(t, (state) => {
    state.cuts = [100_000, 0, 0]
  })
  let second: Promise<unknown> | undefined
  const onProgress = ({ name }: { readonly name: string }): void => {
    if (name === 'model.safetensors') second ??= pull().catch((error: unknown) => error)
  }
  await pull({ pauseMs: 500, onProgress })
  t.match(await second, {
    code: 'conflict',
    field: '--out',
    message: `Another process is fetching into ${outDir}.partial: wait for it, or choose another folder with --out.`,
  })
  t.ok(readFileSync(join(outDir, 'model.safetensors')).equals(WEIGHTS))
  t.same(readdirSync(outDir).sort(), ['config.json', 'model.safetensors', 'tokenizer.json'])
  t.same(readdirSync(dirname(outDir)), ['checkpoint'], 'no lock is left')
})

await t.test('what is in the folder when it appears is the checkpoint alone, so that a kill leaves nothing else there', async (t) => {
  const { outDir, pull } = await setUp(t)
  const pulling = pull().then(() => 'ended')
  while (!existsSync(outDir)) await setImmediate()
  t.same(readdirSync(outDir).sort(), ['config.json', 'model.safetensors', 'tokenizer.json'])
  t.equal(await pulling, 'ended')
})

await t.test('a folder may be named with a slash at its end', async (t) => {
  const { outDir, pull } = await setUp(t)
  await pull({ outDir: `${outDir}/` })
  t.same(readdirSync(outDir).sort(), ['config.json', 'model.safetensors', 'tokenizer.json'])
})

await t.test('a file that cannot be written is not the hub out of reach', async (t) => {
  const { state, outDir, pull } = await setUp(t)
  mkdirSync(join(`${outDir}.partial/files`, 'model.safetensors', 'x'), { recursive: true })
  await t.rejects(pull(), { code: 'EISDIR' })
  t.same(state.asked.filter((asked) => asked.startsWith('model')).length, 1, 'asked once')
})

await t.test('a body that is longer than announced is cut off and refused', async (t) => {
  let endless = 0
  const { outDir, pull } = await setUp(t, (state) => (state.endless = () => ++endless))
  await t.rejects(pull(), { code: 'checkpoint_invalid', field: 'model.safetensors', message: /came damaged/ })
  t.ok(endless > 0 && endless < MOST_PIECES, `${endless} pieces`)
  t.notOk(existsSync(join(`${outDir}.partial/files`, 'model.safetensors')))
})

await t.test('damaged content is refused and not kept', async (t) => {
  const { outDir, pull } = await setUp(t)
  await t.rejects(
    pull({
      pauseMs: 1,
      repository: REPOSITORY,
      onProgress: ({ name }) => {
        const file = join(`${outDir}.partial/files`, name)
        if (name === 'tokenizer.json' && existsSync(file) && readFileSync(file, 'utf8') === '{}') writeFileSync(file, '[]')
      },
    }),
    { code: 'checkpoint_invalid', message: /tokenizer\.json came damaged/ },
  )
  t.notOk(existsSync(join(`${outDir}.partial/files`, 'tokenizer.json')))
  await pull()
})

await t.test('gated, missing, unreachable, no checkpoint, no name: each says so', async (t) => {
  const gated = await setUp(t, (state) => {
    state.token = 'hf_secret'
  })
  await t.rejects(gated.pull(), { code: 'forbidden', message: /gated, private or missing.*HF_TOKEN/ })
  const message = 'HF_TOKEN holds no access token of a Hugging Face hub: those are "hf_", then letters and digits.'
  for (const token of ['secret', 'hf_se\ncret', 'hf_\u00fc'])
    await t.rejects(
      gated.pull({ hub: { url: gated.url, token } }),
      { code: 'invalid_request', field: 'HF_TOKEN', message },
      'it is not shown',
    )
  await gated.pull({ hub: { url: gated.url, token: 'hf_secret' } })
  const { state, pull } = await setUp(t)
  state.status = 404
  await t.rejects(pull(), { code: 'not_found', message: /no model someone\/tiny at revision main/ })
  state.status = null
  state.files.delete('config.json')
  await t.rejects(pull(), { code: 'unsupported', message: /no config\.json/ })
  await t.rejects(pull({ repository: '../tiny' + '/x' }), { code: 'invalid_request' })
  await t.rejects(pull({ hub: { url: 'http://127.0.0.1:9', token: null } }), { code: 'hub_unreachable' })
})

await t.test('HF_ENDPOINT is an address of a hub', (t) => {
  const { HF_ENDPOINT: before = '' } = process.env
  t.teardown(() => (process.env['HF_ENDPOINT'] = before))
  for (const endpoint of ['hub.example', 'ftp://hub.example']) {
    process.env['HF_ENDPOINT'] = endpoint
    const message = `HF_ENDPOINT must be an http or https address (got "${endpoint}").`
    t.throws(() => hubSettings(), { code: 'config_invalid', field: 'HF_ENDPOINT', message })
  }
  process.env['HF_ENDPOINT'] = 'http://hub.example/'
  t.equal(hubSettings().url, 'http://hub.example')
  t.end()
})

await t.test('a download that does not fit is refused before its first byte', async (t) => {
  const { state, pull } = await setUp(t)
  const { files } = state
  // As large as no disk is: only the listing says so.
  const huge = Object.assign(Buffer.from('x'), {})
  Object.defineProperty(huge, 'length', { value: 2 ** 52 })
  files.set('model.safetensors', huge)
  await t.rejects(pull(), {
    code: 'disk_full',
    message: /MB are still to be fetched and 68 MB to stay free, \d+ MB are free at .*: make room, or choose another folder with --out\./,
  })
  t.same(state.asked, [])
})
