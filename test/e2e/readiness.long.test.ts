import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startServer } from '../helpers/cli.ts'
import { tinyService } from '../helpers/service-settings.ts'

/** Processes that this one has started (Linux). */
async function childrenOf(pid: number): Promise<number[]> {
  return (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').map(Number)
}

t.test('readiness follows what answers do', { skip: !existsSync('/proc/self/task') && 'needs /proc' }, async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-ready-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const corpus = path.join(dir, 'corpus.tsv')
  await writeFile(corpus, 'id\ttext\ttitle\n1\tCanberra is the capital of Australia.\tCanberra')
  const server = await startServer(tinyService(dir, { CEPE_CORPUS: corpus, CEPE_LOG_LEVEL: 'silent' }))
  t.teardown(() => server.stop('SIGKILL'))
  const status = async () => (await fetch(`${server.url}/readyz`)).status
  const until = async (wanted: number) => {
    while ((await status()) !== wanted) await delay(100)
  }
  t.equal(await status(), 200)

  for (const pid of await childrenOf(server.pid)) {
    process.kill(pid, 'SIGSTOP')
    await until(503)
    await until(200)
    t.notOk((await childrenOf(server.pid)).includes(pid), 'a hung process is seen and replaced')
  }

  const files = await readdir(path.join(dir, 'index'), { recursive: true })
  const data = files.filter((file) => file.endsWith('.lance') && file.includes('data'))
  t.ok(data.length > 0)
  for (const file of data) if ((await stat(path.join(dir, 'index', file))).isFile()) await truncate(path.join(dir, 'index', file), 10)
  await until(503)
  t.match(await (await fetch(`${server.url}/readyz`)).json(), { ready: false })
  t.equal((await fetch(`${server.url}/healthz`)).status, 200)
})
