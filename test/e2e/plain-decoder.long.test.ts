import { cp, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { runCli, startServer } from '../helpers/cli.ts'
import { root } from '../helpers/root.ts'
import { tinyService } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

t.test('a decoder without encoder, and without demonstrations, is asked by a protocol of its own', async (t) => {
  const dir = await tempDir(t)
  const corpus = path.join(dir, 'corpus.tsv')
  const rows = Array.from({ length: 12 }, (_, i) => `${i}\tThe river number ${i} is water.\tRiver ${i}`)
  await writeFile(corpus, ['id\ttext\ttitle', ...rows].join('\n'))
  const env = tinyService(dir, {
    CEPE_READER_CHECKPOINT: path.join(root, 'test/fixtures/bos/none'),
    CEPE_CORPUS: corpus,
    CEPE_DEMONSTRATIONS: '',
    CEPE_ADMIN_KEY: 'an-admin-key-for-this-test',
  })
  const server = await startServer(env)
  t.teardown(() => server.stop())
  const get = async (where: string) => (await fetch(`${server.url}${where}`)).json()
  const ask = async (body: object) => {
    const response = await fetch(`${server.url}/v1/answer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as { evidence?: { role: string }[]; mode?: string } }
  }

  t.match(await get('/v1/info'), {
    reader: { window: 1024, defaults: { mode: 'decoder-only', k: 3, k_decoder: 3, demonstrations: 0 } },
    modes: ['decoder-only', 'map-rerank', 'experts', 'replug', 'closed-book'],
  })
  const { status, body } = await ask({ question: 'what is the river' })
  t.equal(status, 200)
  t.equal(body.mode, 'decoder-only')
  t.same(
    body.evidence?.map(({ role }) => role),
    ['decoder', 'decoder', 'decoder'],
    'every passage is read',
  )
  t.match(await ask({ question: 'what', mode: 'cepe' }), { status: 400, body: { error: { code: 'invalid_request', field: 'mode' } } })
  t.equal((await fetch(`${server.url}/readyz`)).status, 200)
  const put = await fetch(`${server.url}/v1/passages`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', authorization: 'Bearer an-admin-key-for-this-test' },
    body: JSON.stringify({ passages: [{ id: 'long', title: '', text: 'river '.repeat(3300) }] }),
  })
  const { truncated } = (await put.json()) as { truncated?: { id: string; tokens: number }[] }
  t.match(truncated, [{ id: 'long' }])
  t.ok((truncated?.[0]?.tokens ?? 0) >= 3300 - 256, 'past the 256 tokens that the reader keeps of a passage, or fewer')
  const { stdout } = await runCli(['inspect', path.join(dir, 'reader')])
  t.match(stdout, /protocol: mode decoder-only, k 3, k_decoder 3, demonstrations 0, .*no BOS in front/)
})

t.test('where the protocol wants demonstrations and the service has none, questions are answered, and it is ready for that', async (t) => {
  const dir = await tempDir(t)
  const checkpoint = path.join(dir, 'wants-two')
  await cp(path.join(root, 'test/fixtures/bos/none'), checkpoint, { recursive: true })
  const protocol = { k: 1, k_decoder: 1, demonstrations: 2, context_tokens: 64, max_new_tokens: 4 }
  await writeFile(path.join(checkpoint, 'qa_config.json'), JSON.stringify(protocol))
  const server = await startServer(tinyService(dir, { CEPE_READER_CHECKPOINT: checkpoint, CEPE_DEMONSTRATIONS: '' }))
  t.teardown(() => server.stop())
  const ask = async (body: object) => {
    const passages = [{ title: 'River', text: 'A river is water.' }]
    const response = await fetch(`${server.url}/v1/answer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ question: 'what is the river', passages, ...body }),
    })
    return { status: response.status, body: await response.json() }
  }
  t.match(await ask({}), { status: 200, body: { answer: String } })
  t.match(await ask({ demonstrations: 2 }), { status: 400, body: { error: { field: 'demonstrations' } } }, 'more than there are by name')
})

for (const reader of ['qwen3', 'gemma3/model.gguf'])
  t.test(`${reader}: answers, chats by its own template and orders texts`, async (t) => {
    const checkpoint = path.join(root, 'test/fixtures/decoders', reader)
    const server = await startServer(tinyService(await tempDir(t), { CEPE_READER_CHECKPOINT: checkpoint, CEPE_DEMONSTRATIONS: '' }))
    t.teardown(() => server.stop())
    const post = async (where: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(`${server.url}${where}`, { method: 'POST', headers, body: JSON.stringify(body) })
      return { status: response.status, body: await response.json() }
    }
    const passages = [{ title: 'Canberra', text: 'Canberra is the capital of Australia.' }]
    const asked = { question: 'what is the capital', passages, k: 1, include_prompts: true }
    t.match(await post('/v1/answer', asked), { status: 200, body: { answer: String, mode: 'decoder-only' } })
    t.match(await post('/v1/answer', { ...asked, mode: 'replug' }), { status: 200 })
    t.match(await post('/v1/answer', { ...asked, chat_template: 'tokenizer' }), { status: 200 })
    t.match(await post('/rerank', { query: 'capital', texts: ['Canberra', 'a river'] }), { status: 200, body: [{ index: Number }, {}] })
  })
