import t from 'tap'
import { execFileSync } from 'node:child_process'
import { cp, mkdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Passage } from '../../index/contract.ts'
import { runCli, startServer } from '../helpers/cli.ts'
import { randomRetriever } from '../fixtures/random-retriever.ts'
import { root } from '../helpers/root.ts'
import { builtService } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

/** An index that version 0.1.0 made with a retriever which is no longer at hand: a corpus of 24 passages, two put, one deleted, one snapshot. */
const EARLIER = path.join(root, 'test/fixtures/earlier-index')
const KEY = 'a-key-for-tests-only'

function parsed(lines: string): Passage[] {
  const passages = lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Passage)
  return passages.sort((a, b) => (a.id < b.id ? -1 : 1))
}

await t.test(
  'an index of an earlier version and another retriever is read, kept, taken over and restored without a text lost',
  async (t) => {
    const dir = await tempDir(t)
    const retriever = await randomRetriever(dir, { seed: 42 })
    const env = builtService(dir, { reader: path.join(dir, 'none'), retriever }, { CEPE_ROLE: 'indexer', CEPE_ADMIN_KEY: KEY })
    await mkdir(env.CEPE_INDEX_DIR)
    execFileSync('tar', ['-xzf', path.join(EARLIER, 'index.tar.gz'), '-C', env.CEPE_INDEX_DIR])
    // Exports write an empty source where there is none, which the earlier version omitted.
    const all = parsed(await readFile(path.join(EARLIER, 'passages.jsonl'), 'utf8')).map((one) => ({ ...one, source: one.source ?? '' }))
    const index = (...args: string[]) => runCli(['index', ...args], env)
    const exported = async (): Promise<Passage[]> => parsed((await index('export')).stdout)

    t.same(await exported(), all)
    t.match(
      (await index('status')).stdout,
      /^collection passages: 25 passages, .*\n.*The table is sound.*cepe index reembed --collection passages/,
    )
    t.equal((await index('sources')).stdout, '23\tcorpus.jsonl\n1\t\n1\thand\n')
    t.match(await index('snapshot', 'create', 'kept'), { code: 0, stdout: 'kept: snapshot of 25 passages created\n' })
    t.match(await index('snapshot', 'restore', 'before'), { code: 0, stdout: 'passages: 24 passages, restored from before\n' })
    t.match(await index('snapshot', 'restore', 'kept'), { code: 0 })
    t.same(await exported(), all)

    const server = await startServer(env)
    t.teardown(() => server.stop('SIGKILL'))
    const call = async (method: string, url: string, body?: unknown) => {
      const headers = { authorization: `Bearer ${KEY}`, ...(body !== undefined && { 'content-type': 'application/json' }) }
      const response = await fetch(server.url + url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })
      return { status: response.status, text: await response.text() }
    }
    const read = async <T>(url: string): Promise<T> => JSON.parse((await call('GET', url)).text) as T
    t.same(parsed((await call('GET', '/v1/admin/passages/export')).text), all)
    t.match(await read('/v1/passages/put-1'), { id: 'put-1', text: 'w1 w2 by hand' })
    t.equal((await read<{ passages: unknown[] }>('/v1/admin/passages?limit=30')).passages.length, 25)
    t.match(await read('/v1/admin/index'), { rows: 25, dimension: 16 })
    t.equal((await call('GET', '/readyz')).status, 503, 'what cannot be searched is not ready')
    const put = { passages: [{ id: 'new', title: '', text: 'w9' }] }
    t.match(await call('PUT', '/v1/passages', put), { status: 503, text: /index_invalid.*reembed/ })
    t.match(await call('POST', '/v1/passages/delete', { filter: { source: 'hand' } }), { status: 200, text: '{"deleted":1}' })
    const rest = all.filter(({ source }) => source !== 'hand')

    const ordered = await call('POST', '/v1/admin/index/reembed')
    t.equal(ordered.status, 202, ordered.text)
    const { id } = JSON.parse(ordered.text) as { id: string }
    const state = async (): Promise<string> => (await read<{ state: string }>(`/v1/admin/index-jobs/${id}`)).state
    while (!['done', 'failed', 'stopped'].includes(await state())) await sleep(50)
    t.equal(await state(), 'done', JSON.stringify(await read(`/v1/admin/index-jobs/${id}`)))
    t.match(await read('/v1/admin/index'), { rows: rest.length, dimension: 32 })
    t.same(parsed((await call('GET', '/v1/admin/passages/export')).text), rest)
    t.equal((await call('GET', '/readyz')).status, 200)
    t.equal((await call('PUT', '/v1/passages', put)).status, 200)
    t.match(await call('POST', '/v1/admin/index/reembed'), { status: 409, text: /already/ })
    await server.stop()

    t.match(await index('reembed'), { code: 1, stderr: /already has vectors of/ })
    t.match(
      await index('snapshot', 'restore', 'kept'),
      { code: 1, stderr: /holds vectors of the model/ },
      'no table that works is replaced by one that does not',
    )
    const now = await exported()
    t.equal(now.length, rest.length + 1)

    // A backup of a snapshot's files, put into the folder of a new index.
    t.match(await index('snapshot', 'create', 'backup'), { code: 0 })
    await cp(path.join(env.CEPE_INDEX_DIR, 'passages.snapshots/backup'), path.join(dir, 'backup'), { recursive: true })
    await rm(env.CEPE_INDEX_DIR, { recursive: true })
    await cp(path.join(dir, 'backup'), path.join(env.CEPE_INDEX_DIR, 'passages.snapshots/backup'), { recursive: true })
    t.match(await index('snapshot', 'restore', 'backup'), { code: 0, stdout: `passages: ${now.length} passages, restored from backup\n` })
    t.same(await exported(), now)
  },
)
