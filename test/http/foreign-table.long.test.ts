import path from 'node:path'
import t, { type Test } from 'tap'
import { hashedWords } from '../fixtures/hashed-words.ts'
import { openIndex } from '../../index/open.ts'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { createJobs } from '../../src/jobs/jobs.ts'
import { runCli } from '../helpers/cli.ts'
import { randomRetriever } from '../fixtures/random-retriever.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { tinyShared } from '../helpers/service-settings.ts'
import { servicesAround } from '../helpers/services.ts'
import { embed, somePassages, tempDir } from '../index/helpers.ts'

const passages = somePassages(20)
const lines = passages.map((passage) => JSON.stringify(passage)).sort()
const KEY = 'k'.repeat(32)
const EVEN = passages.filter(({ source }) => source === 'even.tsv').length

/** A folder with a table of a retriever that the processes under test have not. */
async function foreignTable(t: Test): Promise<string> {
  const dir = await tempDir(t)
  const index = await openIndex({ dir: path.join(dir, 'index'), model: hashedWords })
  await index.upsert(passages, await embed(passages.map(({ title, text }) => `${title} ${text}`)))
  index.close()
  return dir
}

await t.test('over HTTP a table of another retriever is read and deleted from; what needs vectors is refused', async (t) => {
  const dir = path.join(await foreignTable(t), 'index')
  const answering = recordingServices().services
  const index = await openIndex({ dir, model: { id: 'fake', dimension: 2 }, consistencyMs: 0 })
  const jobs = createJobs({ index, embedder: answering.retriever.embedder, jobsDir: path.join(dir, 'jobs') })
  const app = await buildApp(
    await servicesAround(t, answering, { index, jobs }),
    loadConfig({ INDEX_DIR: dir, LOG_LEVEL: 'silent', ADMIN_KEY: KEY }, {}),
    '0.0.0-test',
  )
  t.teardown(async () => {
    await app.close()
    await jobs.close()
    index.close()
  })
  const base = await app.listen({ port: 0, host: '127.0.0.1' })
  const call = async (method: string, url: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${KEY}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
    const response = await fetch(base + url, { method, headers, body: body === undefined ? null : JSON.stringify(body) })
    return { status: response.status, text: await response.text() }
  }
  const json = async (method: string, url: string, body?: unknown): Promise<unknown> => JSON.parse((await call(method, url, body)).text)

  t.match(await json('GET', '/v1/admin/index'), { rows: 20, model: hashedWords.id })
  t.same((await call('GET', '/v1/admin/passages/export')).text.trim().split('\n').sort(), lines)
  t.same(await json('GET', '/v1/admin/passages?limit=1'), { passages: [passages[0]], next: 'p0' })
  t.same(await json('GET', '/v1/passages/p7'), passages[7])
  t.match(await json('GET', '/v1/admin/sources'), { sources: { length: 2 } })

  const put = await call('PUT', '/v1/passages', { passages: [{ id: 'new', title: 'New', text: 'A new text.' }] })
  t.match(put, { status: 503, text: /"index_invalid".*holds vectors of the model hashed.*passages can be read, exported and deleted/ })
  await t.rejects(
    index.view().then((view) => view.search(new Float32Array(2), { k: 1 })),
    { code: 'index_invalid' },
  )
  await t.rejects(index.upsert(passages, [], { by: hashedWords }), { code: 'index_invalid' })

  t.same(await json('POST', '/v1/passages/delete', { filter: { source: 'even.tsv' } }), { deleted: EVEN })
  t.same(await json('DELETE', '/v1/passages/p7'), { deleted: 1 })
  t.equal((await call('GET', '/v1/passages/p7')).status, 404, 'the next read sees it')
  t.match(await json('GET', '/v1/admin/index'), { rows: 20 - EVEN - 1 })
})

await t.test('so do the commands', async (t) => {
  const dir = await foreignTable(t)
  const env = { ...tinyShared(dir), CEPE_RETRIEVER_DIR: await randomRetriever(dir, { seed: 1 }) }
  const index = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCli(['index', ...args], env)
    t.equal(code, 0, stderr)
    return stdout
  }
  t.match(await index('status'), new RegExp(hashedWords.id))
  t.same((await index('export')).trim().split('\n').sort(), lines)
  t.equal(await index('sources'), `${EVEN}\teven.tsv\n${20 - EVEN}\todd.tsv\n`)
  t.equal(await index('snapshot', 'create', 'whole'), 'whole: snapshot of 20 passages created\n')
  t.equal(await index('delete', '--source', 'even.tsv'), `${EVEN} passages deleted\n`)
  t.match(await index('snapshot', 'restore', 'whole'), /^passages: 20 passages/)
  t.same((await index('export')).trim().split('\n').sort(), lines)
})
