import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { SKIPS } from '../../helpers/skips.ts'
import { testApp } from '../helpers.ts'

const run = promisify(execFile)
/** Folder with `node_modules` of openapi-typescript, openapi-fetch and typescript 5. */
const installed = process.env['TEST_OPENAPI_TYPESCRIPT'] ?? ''
/** A Python with openapi-python-client, httpx and attrs. */
const python = process.env['TEST_CLIENTS_PYTHON'] ?? ''

const TYPESCRIPT = `
import createClient from 'openapi-fetch'
import type { paths } from './api.d.ts'
const client = createClient<paths>({ baseUrl: process.argv[2] ?? '' })
const { data } = await client.POST('/v1/answer', { body: { question: 'q' } })
const answer: string | null | undefined = data?.answer
const title: string | undefined = data?.evidence[0]?.title
const many = await client.POST('/v1/answers', { body: { questions: [{ question: 'q' }] } })
const first: string | null | undefined = many.data?.results[0]?.result?.answer
const ranked = await client.POST('/v1/rerank', { body: { query: 'q', documents: ['q', 'r'] } })
const best: number | undefined = ranked.data?.results[0]?.index
const chat = await client.POST('/v1/chat/completions', { body: { model: 'cepe', messages: [{ role: 'user', content: 'q' }] } })
const content: string | undefined = chat.data?.choices[0]?.message.content
const exported = await client.GET('/v1/admin/passages/export', { parseAs: 'text' })
const lines: string | undefined = exported.data
console.log(JSON.stringify({ answer, title, first, best, content, lines: lines ?? null }))
`
const CONFIG = {
  compilerOptions: {
    ...{ strict: true, module: 'nodenext', target: 'es2022', skipLibCheck: true, types: [], lib: ['es2022', 'dom'] },
    ...{ allowImportingTsExtensions: true, rewriteRelativeImportExtensions: true },
  },
  files: ['use.ts'],
}
const PYTHON = `
import json, sys
from cepe_qa_client import Client
from cepe_qa_client.api.questions import answer, rerank
from cepe_qa_client.api.openai import create_chat_completion
from cepe_qa_client.models import AnswerRequest, CreateChatCompletionRequest, RerankRequest
client = Client(base_url=sys.argv[1])
answered = answer.sync(client=client, body=AnswerRequest(question="q"))
ranked = rerank.sync(client=client, body=RerankRequest(query="q", documents=["q", "r"]))
chat = create_chat_completion.sync(client=client, body=CreateChatCompletionRequest.from_dict({"model": "cepe", "messages": [{"role": "user", "content": "q"}]}))
print(json.dumps({"answer": answered.answer, "title": answered.evidence[0].title, "best": ranked.results[0].index, "content": chat.choices[0].message.content}))
`

/** A listening service, and a folder with its OpenAPI document. */
async function documented(t: Test) {
  const { app } = await testApp(t)
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-generated-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  await writeFile(path.join(dir, 'openapi.json'), (await app.inject('/docs/json')).body)
  return { dir, url: await app.listen({ host: '127.0.0.1', port: 0 }) }
}

t.test('openapi-typescript types what openapi-fetch returns', { skip: installed === '' ? SKIPS.openApiTypeScript : false }, async (t) => {
  const { dir, url } = await documented(t)
  await symlink(path.resolve(installed, 'node_modules'), path.join(dir, 'node_modules'))
  for (const [name, text] of Object.entries({
    'use.ts': `declare const process: { argv: string[] }\n${TYPESCRIPT}`,
    'tsconfig.json': JSON.stringify(CONFIG),
    'package.json': '{"type":"module"}',
  }))
    await writeFile(path.join(dir, name), text)
  await run(process.execPath, ['node_modules/openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'api.d.ts'], { cwd: dir })
  await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.'], { cwd: dir })
  const { stdout } = await run(process.execPath, ['use.js', url], { cwd: dir })
  t.match(JSON.parse(stdout), { answer: 'yes', title: 'T0', first: 'yes', best: 0, content: 'yes', lines: null }, 'the export needs a key')
})

t.test('openapi-python-client makes a client that answers', { skip: python === '' ? SKIPS.pythonClients : false }, async (t) => {
  const { dir, url } = await documented(t)
  await writeFile(path.join(dir, 'config.yml'), 'post_hooks: []\n')
  const cli = ['-m', 'openapi_python_client', 'generate', '--path', 'openapi.json', '--config', 'config.yml']
  await run(python, cli, { cwd: dir })
  await writeFile(path.join(dir, 'use.py'), PYTHON)
  const { stdout } = await run(python, ['use.py', url], { cwd: dir, env: { ...process.env, PYTHONPATH: path.join(dir, 'cepe-qa-client') } })
  t.same(JSON.parse(stdout), { answer: 'yes', title: 'T0', best: 0, content: 'yes' })
})
