import t from 'tap'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readAlias } from '../../index/versions/alias.ts'
import { connectLance } from '../../index/table/lance.ts'
import { readPassageFile } from '../../index/read/read.ts'
import { stringsOf } from '../../index/table/rows.ts'
import { contentHash } from '../../index/hash.ts'
import type { Job } from '../../src/jobs/record/schema.ts'
import { builtFixture } from '../fixtures/built-fixture.ts'
import { startServer, type RunningServer } from '../helpers/cli.ts'
import { builtService } from '../helpers/service-settings.ts'
import { somePassages, tempDir } from '../index/helpers.ts'
import { toTsv } from './helpers.ts'

/** The head of the demo corpus. */
const ROWS = 900
const KEY = 'a-key-for-tests-only'
const headers = { authorization: `Bearer ${KEY}` }

async function json(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>
}

async function post({ url }: RunningServer, body: string, query = ''): Promise<Job> {
  const response = await fetch(`${url}/v1/admin/index-jobs${query}`, {
    method: 'POST',
    body,
    headers: { ...headers, 'content-type': 'text/tab-separated-values' },
  })
  return (await response.json()) as Job
}

async function jobOf({ url }: RunningServer, id: string): Promise<Job> {
  return (await (await fetch(`${url}/v1/admin/index-jobs/${id}`, { headers })).json()) as Job
}

async function settled(server: RunningServer, id: string, meanwhile: () => Promise<void> = () => Promise.resolve()): Promise<Job> {
  for (;;) {
    const job = await jobOf(server, id)
    if (['done', 'failed', 'stopped', 'cancelled'].includes(job.state)) return job
    await meanwhile()
    await sleep(20)
  }
}

await t.test('a real corpus goes into the running service while it answers; killed, it goes on', { timeout: 110_000 }, async (t) => {
  const dir = await tempDir(t)
  // Each fixture is built into the same folder.
  for (const name of ['cepe-tiny-gqa', 'contriever-tiny']) await cp(await builtFixture(t, name), join(dir, name), { recursive: true })
  const models = { reader: join(dir, 'cepe-tiny-gqa'), retriever: join(dir, 'contriever-tiny') }
  const env = builtService(dir, models, { CEPE_ADMIN_KEY: KEY })
  let server = await startServer(env)
  t.teardown(() => server.stop('SIGKILL'))
  const first = await post(server, toTsv(somePassages(30)))
  t.match(await settled(server, first.id), { state: 'done', result: { rows: 30 } })

  const ask = async (): Promise<{ status: number; ids: string[]; rows: unknown }> => {
    const response = await fetch(`${server.url}/v1/search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query": "w5 w7 w9", "k": 3}',
    })
    const body = await json(response)
    return {
      status: response.status,
      ids: ((body.passages ?? []) as { id: string }[]).map(({ id }) => id),
      rows: (body.index as { passages?: number } | undefined)?.passages,
    }
  }
  const whole = await readFile('index/corpus/passages.tsv', 'utf8')
  const corpus = whole
    .split('\n')
    .slice(0, 1 + ROWS)
    .join('\n')
  const file = join(dir, 'corpus.tsv')
  await writeFile(file, corpus)
  const second = await post(server, corpus, '?replace=true')
  t.match(second, { state: 'queued', counters: { read: ROWS, accepted: ROWS } })
  const seen = await ask()
  t.match(seen, { status: 200, rows: 30 }, 'the old table answers')
  await server.stop('SIGKILL')

  server = await startServer(env)
  const answers: { status: number; rows: unknown }[] = []
  const job = await settled(server, second.id, async () => {
    answers.push(await ask())
  })
  t.match(job, { state: 'done', counters: { accepted: ROWS, committed: ROWS, rejected: 0 }, result: { rows: ROWS } })
  t.ok(
    answers.every(({ status, rows }) => status === 200 && (rows === 30 || rows === ROWS)),
    'every question was answered, from one table or the other',
  )
  t.match(await json(await fetch(`${server.url}/v1/admin/index`, { headers })), { rows: ROWS, kind: 'exact' })
  t.equal((await ask()).rows, ROWS)
  t.equal(await server.stop(), 0)

  const expected: string[] = []
  for await (const item of readPassageFile(file)) if ('passage' in item) expected.push(`${item.passage.id} ${contentHash(item.passage)}`)
  const connection = await connectLance(join(dir, 'index'), 0)
  const alias = await readAlias({ dir: join(dir, 'index'), table: 'passages' })
  const rows = await (await connection.openTable(alias ?? '')).query().select(['id', 'hash']).toArrow()
  connection.close()
  t.same(
    Array.from({ length: rows.numRows }, (_, row) => `${stringsOf(rows, 'id')(row)} ${stringsOf(rows, 'hash')(row)}`).sort(),
    expected.sort(),
  )
})
