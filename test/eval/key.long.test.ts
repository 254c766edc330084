import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { createHttpClient } from '../../eval/client/http.ts'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { openKeys } from '../../src/keys/keys.ts'
import { addKey } from '../../src/keys/store.ts'
import { factServices } from '../helpers/fact-services.ts'
import { root } from '../helpers/root.ts'
import { servicesAround } from '../helpers/services.ts'

const CLI = path.join(root, 'dist/eval/cli.js')

/** A service that wants a key, and a question file for it. */
async function closedService(t: Test) {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-eval-key-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const key = await addKey(path.join(dir, 'keys'), { name: 'ann', role: 'user' })
  const keys = await openKeys({ dir: path.join(dir, 'keys'), pollMs: 50 })
  t.teardown(() => keys.close())
  const services = await servicesAround(t, factServices().services, { keys })
  const app = await buildApp(services, loadConfig({ LOG_LEVEL: 'silent' }, {}), '0.0.0-test')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const questions = path.join(dir, 'questions.jsonl')
  await writeFile(questions, `${JSON.stringify({ question: 'what is fact 1', answer: ['a1'] })}\n`)
  const run = path.join(dir, 'run')
  const args = ['--dataset', questions, '--shots', '0', '--k', '2', '--modes', 'cepe', '--recall-depth', '2', '--dump-prompts']
  const evaluate = async (env: Record<string, string>, ...more: string[]) => {
    const child = spawn(process.execPath, [CLI, ...args, '--url', url, '--out', run, ...more], {
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => (said += chunk))
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, said }
  }
  return { key, url, run, evaluate }
}

t.test('a service with keys is measured with one, which is neither said nor kept', async (t) => {
  const { key, url, run, evaluate } = await closedService(t)
  const without = await evaluate({})
  t.equal(without.code, 1)
  t.match(without.said, /needs a key.*--key, or CEPE_KEY/)
  const wrong = await evaluate({ CEPE_KEY: 'cepe_wrong' })
  t.equal(wrong.code, 1)
  t.notMatch(wrong.said, /cepe_wrong/)
  for (const [env, more] of [
    [{ CEPE_KEY: key }, []],
    [{ CEPE_KEY: 'cepe_wrong' }, ['--key', key]],
  ] as const) {
    await rm(run, { recursive: true, force: true })
    const measured = await evaluate(env, ...more)
    t.equal(measured.code, 0, measured.said)
    const files = (await readdir(run, { recursive: true })).filter((name) => path.extname(name) !== '')
    t.ok(files.includes('manifest.json') && files.length >= 3, files.join())
    const texts = await Promise.all(files.map((name) => readFile(path.join(run, name), 'utf8')))
    t.notMatch([measured.said, ...texts].join('\n'), key)
  }
  t.match((await createHttpClient(url, key).answer({ question: 'what is fact 1' })).answer, 'a1')
})

t.test('what cannot be sent is refused without being shown', (t) => {
  for (const key of ['', 'two words', 'line\nbreak', 'schlüssel'])
    t.throws(() => createHttpClient('http://127.0.0.1:1', key), { code: 'options_invalid', message: /^[^\n]*it is not shown\.$/ })
  t.throws(() => createHttpClient('http://ann:secret@127.0.0.1:1'), { code: 'options_invalid', message: /^(?!.*secret).*--key/ })
  t.equal(loadConfig({}, { CEPE_KEY: 'x' }).PORT, 8080, 'no setting of a service, which does not mind it')
  t.end()
})

t.test("a key whose day's questions are used up is said, not waited for", async (t) => {
  const error = { code: 'rate_limited', message: 'The key ann has asked the 2 questions of today.', request_id: '1' }
  const server = createServer((_request, response) => {
    response.writeHead(429, { 'retry-after': '3600', 'content-type': 'application/json' }).end(JSON.stringify({ error }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const client = createHttpClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  await t.rejects(client.answer({ question: 'q' }), { code: 'rate_limited', message: /of today/ })
})
