import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import type { Job } from '../../src/jobs/record/schema.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { servicesAround } from '../helpers/services.ts'
import { tempDir } from '../index/helpers.ts'
import { embedderOf, withJobs } from './helpers.ts'

const KEY = 'a-key-for-tests-only'
/** "Lamp" in Windows-1251: all of it letters of other alphabets in any other encoding of one byte. */
const LAMP = Buffer.concat([Buffer.from('cbe0ecefe0', 'hex'), Buffer.from(' lamp')])
const LAMP_SAYS = '\u041b\u0430\u043c\u043f\u0430 lamp'

async function served(t: Test) {
  const dir = await tempDir(t)
  const { index, jobs } = await withJobs(t, dir)
  const services = await servicesAround(t, recordingServices().services, { index, jobs, embedder: embedderOf() })
  const app = await buildApp(services, loadConfig({ LOG_LEVEL: 'silent', ADMIN_KEY: KEY }, {}), '0.0.0-test')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const post = async (body: FormData | Buffer, { query = '', type }: { query?: string; type?: string } = {}): Promise<Job> => {
    const response = await fetch(`${url}/v1/admin/index-jobs${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, ...(type !== undefined && { 'content-type': type }) },
      body: body instanceof FormData ? body : new Uint8Array(body),
    })
    const { id, error } = (await response.json()) as { id?: string; error?: { message: string } }
    t.ok(response.ok, error?.message ?? 'accepted')
    return jobs.wait(String(id))
  }
  /** The texts of files' passages, in the order of the files. */
  const textsOf = async (...sources: string[]): Promise<string[]> => {
    const all = await index.list({ limit: 100 })
    return sources.flatMap((source) => all.filter((one) => one.source === source).map(({ text }) => text))
  }
  return { dir, jobs, post, textsOf, get: (id: string) => index.get(id) }
}

const table = (id: string): Buffer => Buffer.concat([Buffer.from(`id\ttext\n${id}0\tAll ASCII here.\n${id}1\t`), LAMP, Buffer.from('\n')])

t.test('the charset of a file in a form is its encoding; another file of the form keeps its own', async (t) => {
  const { get, post, textsOf } = await served(t)
  const form = new FormData()
  form.append('file', new Blob([LAMP], { type: 'text/plain; charset=windows-1251' }), 'lamp.txt')
  form.append('file', new Blob(['\u00fcber'], { type: 'text/plain' }), 'over.txt')
  form.append('file', new Blob([table('a')], { type: 'text/tab-separated-values; charset="windows-1251"' }), 'a.tsv')
  t.match(await post(form), { state: 'done', files: { indexed: 3, left_out: [] } })
  t.equal((await get('a1'))?.text, LAMP_SAYS)
  t.same(await textsOf('lamp.txt', 'over.txt'), [LAMP_SAYS, '\u00fcber'])
})

t.test('one table: by the charset of its form part, of the request, or by the option', async (t) => {
  const { get, post } = await served(t)
  const form = new FormData()
  form.append('file', new Blob([table('b')], { type: 'text/tab-separated-values;charset=windows-1251' }), 'b.tsv')
  t.match(await post(form), { state: 'done' })
  t.match(await post(table('c'), { type: 'text/tab-separated-values; charset=windows-1251' }), { state: 'done' })
  t.match(await post(table('d'), { type: 'text/tab-separated-values', query: '?encoding=windows-1251' }), { state: 'done' })
  for (const id of ['b1', 'c1', 'd1']) t.equal((await get(id))?.text, LAMP_SAYS, id)
  for (const encoding of ['windows-1252', 'latin1']) {
    const oil = Buffer.from(`id\ttext\n${encoding}\t\x93Oil\x94 \x96 \x805\n`, 'latin1')
    await post(oil, { type: 'text/tab-separated-values', query: `?encoding=${encoding}` })
    t.equal((await get(encoding))?.text, '\u201cOil\u201d \u2013 \u20ac5')
  }
})

t.test('a folder: the option is for files that are not UTF-8; without it the encoding is detected, and said', async (t) => {
  const { dir, jobs, textsOf } = await served(t)
  await writeFile(join(dir, 'lamp.txt'), LAMP)
  await writeFile(join(dir, 'utf8.txt'), '\u00fcber allem')
  await writeFile(join(dir, 'street.txt'), Buffer.from('Die Stra\u00dfe in K\u00f6ln ist sch\u00f6n und f\u00fcr alle.', 'latin1'))
  const job = await jobs.wait((await jobs.addFolder(dir, { encoding: 'windows-1251' }, ['lamp.txt', 'utf8.txt'])).id)
  t.match(job, { state: 'done', files: { indexed: 2 } })
  t.same(await textsOf('lamp.txt', 'utf8.txt'), [LAMP_SAYS, '\u00fcber allem'])
  await jobs.wait((await jobs.addFolder(dir, {}, ['street.txt'])).id)
  t.same(await textsOf('street.txt'), ['Die Stra\u00dfe in K\u00f6ln ist sch\u00f6n und f\u00fcr alle.'])
  await t.rejects(jobs.addFolder(dir, { encoding: 'klingon' }), { code: 'invalid_request', message: /klingon/ })
})

t.test('composed and decomposed letters are the same: passages of documents and tables are composed', async (t) => {
  const { get, post } = await served(t)
  await post(Buffer.from('id\ttext\ttitle\nn1\tcafe\u0301\tKo\u0308ln\n'), { type: 'text/tab-separated-values' })
  t.match(await get('n1'), { text: 'caf\u00e9', title: 'K\u00f6ln' })
})
