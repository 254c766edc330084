import path from 'node:path'
import t from 'tap'
import { hashedWords } from '../fixtures/hashed-words.ts'
import { openIndex } from '../../index/open.ts'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { createJobs } from '../../src/jobs/jobs.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { servicesAround } from '../helpers/services.ts'
import { embed, somePassages, tempDir } from '../index/helpers.ts'
import { embedderOf } from '../jobs/helpers.ts'

const KEY = 'k'.repeat(32)

await t.test('a passage is given back as it was put; one whose vector holds zeros only is refused by its id', async (t) => {
  const dir = await tempDir(t)
  const index = await openIndex({ dir, model: hashedWords, consistencyMs: 0 })
  const embedder = embedderOf((texts) =>
    texts.some((text) => text.includes('nothing')) ? Promise.resolve(texts.map(() => new Float32Array(32))) : embed(texts),
  )
  const jobs = createJobs({ index, embedder, jobsDir: path.join(dir, 'jobs') })
  const services = await servicesAround(t, recordingServices().services, { index, jobs, embedder })
  const app = await buildApp(services, loadConfig({ INDEX_DIR: dir, LOG_LEVEL: 'silent', ADMIN_KEY: KEY }, {}), '0.0.0-test')
  t.teardown(async () => {
    await app.close()
    await jobs.close()
    index.close()
  })
  const base = await app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const put = (passage: unknown) =>
    fetch(`${base}/v1/passages`, { method: 'PUT', headers, body: JSON.stringify({ passages: [passage] }) }).then((r) => r.json())

  const passage = { id: 'code', title: ' A title ', text: '  indented:\n    more\n\n' }
  t.match(await put(passage), { upserted: 1 })
  t.same(await (await fetch(`${base}/v1/passages/code`)).json(), passage)
  t.match(await put(passage), { upserted: 0, unchanged: 1 })
  t.match(await put({ id: 'blank', title: '', text: ' \n ' }), { error: { message: /text is empty/ } })

  t.match(await put({ id: 'null', title: '', text: 'nothing' }), {
    error: { code: 'index_invalid', message: /passage "null" is all zeros/ },
  })
  const [some] = somePassages(1)
  for (const value of [0, -0, 1e-9])
    await t.rejects(index.upsert(some ? [some] : [], [new Float32Array(32).fill(value)]), { message: /"p0" is all zeros/ })
  await t.rejects(index.upsert(some ? [some] : [], [new Float32Array(32).fill(NaN)]), { message: /"p0" holds NaN/ })
  t.equal(await index.count(), 1)
})
