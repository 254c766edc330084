import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { root } from '../helpers/root.ts'
import { testApp } from '../http/helpers.ts'

const run = promisify(execFile)
const BUILT = path.join(root, 'dist/client')
const TSC = path.join(root, 'node_modules/typescript/bin/tsc')

const CONSUMER = `
import { CepeError, createClient, type AnswerResponse, type Evidence } from '@cepe/client'

export async function ask(url: string): Promise<{ answer: string; titles: string[]; said: string; code: string }> {
  const client = createClient({ url })
  const data: AnswerResponse = await client.answer({ question: 'what is it', k: 2 })
  const titles = data.evidence.map((passage: Evidence) => passage.title)
  let said = ''
  for await (const happened of client.streamAnswer({ question: 'what is it' })) {
    if (happened.event === 'token') said += happened.data.text
    // @ts-expect-error: evidence comes before the answer
    if (happened.event === 'evidence') said += happened.data.answer ?? ''
  }
  // @ts-expect-error: a question is asked for
  const code = await client.answer({ query: 'what is it' }).catch((error: unknown) => (error instanceof CepeError ? error.code : 'other'))
  return { answer: data.answer ?? '', titles, said, code: String(code) }
}
`
const PROGRAM = "import { ask } from './consumer.js'\nconsole.log(JSON.stringify(await ask(process.argv[2])))\n"

t.test('the package holds what its consumers need and nothing else; they compile and ask', async (t) => {
  await run('npm', ['run', '--silent', 'build:package'], { cwd: root })
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', BUILT], { cwd: root })
  const [packed] = JSON.parse(stdout) as { name: string; version: string; files: { path: string }[] }[]
  const files = packed?.files.map((file) => file.path) ?? []
  t.match(files.join(), /index\.js/)
  for (const file of files) t.match(file, /^([a-z-]+\.(js|d\.ts)|README\.md|LICENSE|package\.json)$/)
  const manifest = JSON.parse(await readFile(path.join(BUILT, 'package.json'), 'utf8')) as Record<string, unknown>
  const own = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as Record<string, unknown>
  t.equal(manifest['version'], own['version'])
  t.notOk(Object.keys(manifest).some((key) => /dependencies/i.test(key)))
  for (const file of files.filter((name) => name.endsWith('.js')))
    for (const [, from = ''] of (await readFile(path.join(BUILT, file), 'utf8')).matchAll(/from '([^']+)'/g)) t.match(from, /^\.\//, file)

  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-client-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const sources = { 'consumer.ts': CONSUMER, 'program.js': PROGRAM, 'package.json': '{"type":"module"}' }
  for (const [file, text] of Object.entries(sources)) await writeFile(path.join(dir, file), text)
  const installed = path.join(dir, 'node_modules/@cepe/client')
  await mkdir(installed, { recursive: true })
  for (const file of files) await cp(path.join(BUILT, file), path.join(installed, file))
  const settings = { strict: true, target: 'ES2022', lib: ['ES2022', 'DOM'], types: [] }
  const kinds = {
    node: { module: 'NodeNext' },
    browser: { module: 'ESNext', moduleResolution: 'bundler', exactOptionalPropertyTypes: true },
  }
  for (const [kind, compilerOptions] of Object.entries(kinds)) {
    const config = path.join(dir, `tsconfig.${kind}.json`)
    await writeFile(config, JSON.stringify({ compilerOptions: { ...settings, ...compilerOptions }, files: ['consumer.ts'] }))
    await t.resolves(run(process.execPath, [TSC, '-p', config], { cwd: dir }), kind)
  }

  const { app } = await testApp(t)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const asked = await run(process.execPath, [path.join(dir, 'program.js'), url])
  t.same(JSON.parse(asked.stdout), { answer: 'yes', titles: ['T0', 'T1'], said: 'yes', code: 'invalid_request' })
})
