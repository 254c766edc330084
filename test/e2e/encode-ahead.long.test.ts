import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { runCli, startServer } from '../helpers/cli.ts'
import { tinyService } from '../helpers/service-settings.ts'

const QUESTION = 'what is the capital of australia'
const KEY = 'a-key-of-sixteen-letters'
interface Answered {
  readonly answer: string
  readonly confidence: number
}
const row = (id: string, title: string, text: string): string => `${id}\t${text}\t${title}\n`

await t.test('states of a table are stored by a command, found by a service, and followed by it', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-ahead-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const env = tinyService(dir)
  const disk = { ...env, CEPE_STATE_DISK_MB: '10' }
  const stored = async (): Promise<number> => {
    const names = await readdir(path.join(dir, 'index', 'states'), { recursive: true }).catch(() => [])
    return names.filter((name) => name.endsWith('.states')).length
  }
  const corpus = path.join(dir, 'corpus.tsv')
  const capital = 'Canberra is the capital of Australia. It was founded in 1913.'
  await writeFile(corpus, `id\ttext\ttitle\n${row('1', 'Canberra', capital)}${row('2', 'Orinoco', 'The Orinoco rises in Venezuela.')}`)
  t.match(await runCli(['index', 'add', corpus], env), { code: 0 })

  t.match(await runCli(['index', 'encode-ahead'], env), { code: 1, stderr: /CEPE_STATE_DISK_MB/ })
  t.equal(await stored(), 0)
  t.match(await runCli(['index', 'encode-ahead'], disk), {
    code: 0,
    stdout: /^states of 2 passages on the disk: 2 new, of \d+ kB\n$/,
  })
  t.equal(await stored(), 2)
  t.match(await runCli(['index', 'encode-ahead'], disk), { code: 0, stdout: /: 0 new, / })

  const server = await startServer({ ...disk, CEPE_ENCODE_AHEAD: 'true', CEPE_ADMIN_KEY: KEY })
  t.teardown(() => server.stop('SIGKILL').catch(() => null))
  const ask = async (url: string) => {
    const response = await fetch(`${url}/v1/answer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ question: QUESTION, k: 2 }),
    })
    return (await response.json()) as Answered
  }
  const { answer, confidence } = await ask(server.url)
  t.equal(await stored(), 2, 'the states that were there are those of the question')
  const exact = await runCli(['ask', QUESTION, '--k', '2', '--json'], { ...env, CEPE_STATE_DTYPE: 'f32' })
  t.equal(exact.code, 0, exact.stderr)
  const computed = JSON.parse(exact.stdout) as Answered
  t.equal(answer, computed.answer)
  t.ok(Math.abs(confidence - computed.confidence) < 0.01, `read in half precision ${confidence}, computed ${computed.confidence}`)

  const job = await fetch(`${server.url}/v1/admin/index-jobs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'text/tab-separated-values' },
    body: `id\ttext\ttitle\n${row('3', 'Aida', 'Aida is an opera by Giuseppe Verdi.')}`,
  })
  t.equal(job.status, 202)
  while ((await stored()) < 3) await sleep(100)
  t.equal(await server.stop(), 0)
})
