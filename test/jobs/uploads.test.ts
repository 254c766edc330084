import { watch } from 'node:fs'
import { mkdir, open, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { gzipSync } from 'node:zlib'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { tryJobLock } from '../../index/writers/locks.ts'
import type { Job } from '../../src/jobs/record/schema.ts'
import { makeTar } from '../fixtures/tar.ts'
import { makeZip } from '../fixtures/zip.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { servicesAround } from '../helpers/services.ts'
import { tempDir } from '../index/helpers.ts'
import { embedderOf, withJobs } from './helpers.ts'

const KEY = 'a-key-for-tests-only'
const MB = 2 ** 20

async function served(t: Test, maxUploadBytes = 10 * MB) {
  const dir = await tempDir(t)
  await mkdir(join(dir, 'import'))
  const { index, jobs } = await withJobs(t, dir, { maxUploadBytes })
  const services = await servicesAround(t, recordingServices().services, { index, jobs, embedder: embedderOf() })
  const app = await buildApp(services, loadConfig({ LOG_LEVEL: 'silent', ADMIN_KEY: KEY }, {}), '0.0.0-test')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const post = async (body: FormData | Buffer, headers: Record<string, string> = {}, query = '') => {
    const response = await fetch(`${url}/v1/admin/index-jobs${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, ...headers },
      body: body instanceof FormData ? body : new Uint8Array(body),
    })
    return { status: response.status, json: (await response.json()) as { id?: string; error?: { code: string; message: string } } }
  }
  const form = async (files: Record<string, string | Buffer>, headers: Record<string, string> = {}, query = '') => {
    const data = new FormData()
    for (const [name, content] of Object.entries(files)) data.append('file', new Blob([new Uint8Array(Buffer.from(content))]), name)
    return post(data, headers, query)
  }
  const ended = ({ json }: { json: { id?: string } }): Promise<Job> => jobs.wait(String(json.id))
  const folders = () => readdir(join(dir, 'index', 'jobs'))
  return { dir, index, jobs, post, form, ended, folders }
}

const NOTE = '# Lamps\n\nThe lamp on the mole burns from dusk until dawn.\n'
const TABLE = 'id\ttext\n1\tThe ferry leaves at noon.\n'

await t.test('several files of a form, tables among them, in any order', async (t) => {
  const { dir, index, form, post, ended } = await served(t)
  const handbook = await readFile('test/fixtures/documents/handbook.docx')
  const sent = await form({ 'ports.tsv': TABLE, 'lamps.md': NOTE, 'handbook.docx': handbook, 'dues.mp3': 'ID3' }, {}, '?label=upload')
  t.equal(sent.status, 202, JSON.stringify(sent.json))
  const job = await ended(sent)
  t.match(job, {
    state: 'done',
    source: { name: 'ports.tsv and 3 more', path: null, files: { uploaded: true } },
    counters: { accepted: 7, committed: 7, rejected: 1 },
    files: { indexed: 3, left_out: [{ kind: '.mp3', reason: 'not_supported', files: 1 }] },
  })
  t.match(await index.sources(), [{ source: 'upload/handbook.docx', passages: 5 }, { passages: 1 }, { passages: 1 }])
  t.equal((await index.get('1'))?.source, 'upload/ports.tsv')
  t.notOk((await readdir(join(dir, 'index', 'jobs', job.id))).includes('uploads'), 'the files are gone with the job')
  t.match(await ended(await form({ 'one.md': NOTE })), { state: 'done', source: { name: 'one.md' }, files: { indexed: 1 } })
  t.match(await ended(await form({ 'one.tsv': TABLE })), { state: 'done', source: { name: 'one.tsv' }, counters: { read: 1 } })
  const big = `${TABLE}${Array.from({ length: 100 }, (_, i) => `r${i}\t${'word '.repeat(19_000)}\n`).join('')}`
  t.match(await form({ 'big.tsv': big, 'one.md': NOTE }), {
    status: 400,
    json: { error: { code: 'invalid_request', message: /the one file/ } },
  })
  t.match(await form({}), { status: 400, json: { error: { code: 'invalid_request' } } })
  const labelled = new FormData()
  labelled.append('label', 'handbook')
  labelled.append('file', new Blob([NOTE]), 'one.md')
  t.match(await post(labelled), { status: 400, json: { error: { code: 'invalid_request', message: /options in the query/ } } })
})

await t.test('a file that changes on the disk before its job reads it is left out, and not indexed as another text', async (t) => {
  const { dir, index, form, ended } = await served(t)
  const lock = await tryJobLock(index.dir)
  const sent = await form({ 'lamps.md': NOTE, 'ports.tsv': TABLE, 'cut.md': NOTE, 'whole.txt': 'The bell rings in fog.' })
  const uploads = join(dir, 'index', 'jobs', String(sent.json.id), 'uploads')
  for (const name of (await readdir(uploads)).filter((one) => /^\d+$/.test(one))) {
    const text = await readFile(join(uploads, name), 'utf8')
    if (text === NOTE) await writeFile(join(uploads, name), name === '000001' ? text.replace('lamp on', 'lamb on') : text.slice(0, 30))
    if (text === TABLE) await writeFile(join(uploads, name), text.replace('noon', 'nine'))
  }
  await lock?.release()
  const job = await ended(sent)
  t.match(job, { state: 'done', counters: { committed: 1, rejected: 3 }, files: { indexed: 1 } })
  t.same(
    job.recent_rejects.map(({ file, reason, detail }) => `${file}: ${reason}. ${detail}`).sort(),
    ['cut.md', 'lamps.md', 'ports.tsv'].map(
      (file) => `${file}: unreadable. It has changed on the disk since it was uploaded: upload it again.`,
    ),
  )
  t.match(await index.list({ limit: 9 }), [{ text: 'The bell rings in fog.' }])
})

await t.test('a list of uploaded files with a changed bit is refused; one of earlier software is read', async (t) => {
  const { dir, index, jobs, form, ended } = await served(t)
  const changed = async (change: (text: string) => string) => {
    const lock = await tryJobLock(index.dir)
    const sent = await form({ 'lamps.md': NOTE, 'bells.txt': 'The bell rings in fog.' })
    const list = join(dir, 'index', 'jobs', String(sent.json.id), 'uploads', 'files.json')
    const whole = await readFile(list, 'utf8')
    await writeFile(list, change(whole))
    await lock?.release()
    return { list, whole, job: await ended(sent) }
  }
  for (const [from, to] of [
    ['lamps.md', 'lamqs.md'],
    ['"bytes":22', '"bytes":23'],
    ['lamps', 'la\u0000ps'],
  ] as const) {
    const { list, whole, job } = await changed((text) => text.replace(from, to))
    const message = `${list}, which lists the files that a job received, is missing or damaged: put its copy back and resume the job, or start a new one.`
    t.match(job, { state: 'stopped', counters: { committed: 0 }, error: { code: 'store_unavailable', message } }, to)
    await writeFile(list, whole)
    await jobs.resume(job.id)
    t.match(await jobs.wait(job.id), { state: 'done', files: { indexed: 2 } }, 'by the copy')
  }
  const { job } = await changed((text) => JSON.stringify((JSON.parse(text) as { list: unknown }).list))
  t.match(job, { state: 'done', files: { indexed: 2 } })
  t.match(await index.sources(), [{ source: 'bells.txt' }, { source: 'lamps.md' }])
})

await t.test('tables of other shapes: columns and ids by the query', async (t) => {
  const { index, form, post, ended } = await served(t)
  const csv = { 'content-type': 'text/csv' }
  const faq = 'question,answer\nWhere?,Here.\n'
  const query = '?columns=title%3Dquestion,text%3Danswer'
  t.match(await ended(await post(Buffer.from(faq), csv, `${query}&ids=line&label=faq`)), { state: 'done', counters: { committed: 1 } })
  t.match(await index.get('faq#2'), { title: 'Where?', text: 'Here.', source: 'faq' })
  const several = await ended(await form({ 'a.csv': faq, 'b.csv': faq, 'c.md': NOTE }, {}, `${query}&ids=line`))
  t.match(several, { state: 'done', files: { indexed: 3 } })
  t.equal(await index.count({ source: ['a.csv', 'b.csv'] }), 2, 'each file has ids of its own')
  const wide = 'id,text,author\n1,a,Ann\n'
  const unread = 'Not read: the columns author. Name them in columns (metadata.<name>=<column>) to keep them.'
  t.match(await ended(await post(Buffer.from(wide), { 'content-type': 'text/csv' })), { warnings: [unread] })
  t.match(await ended(await form({ 'a.csv': wide, 'b.md': NOTE })), { warnings: [`a.csv: ${unread}`] })
  const nested = Buffer.from('{"id":"n","text":"x","metadata":{"a":{"b":1},"c":2}}\n')
  const warned = await ended(await post(nested, { 'content-type': 'application/x-ndjson' }))
  t.match(warned, { state: 'done', warnings: [/left out: a \(1 row\)/] })
  t.same((await index.get('n'))?.metadata, { c: 2 })
  t.match(await post(Buffer.from(faq), csv, '?columns=body%3Danswer'), {
    status: 400,
    json: { error: { code: 'invalid_request', field: 'columns' } },
  })
  t.match(await post(Buffer.from(faq), csv, '?ids=random'), { status: 400 })
  t.match(await post(Buffer.from(faq), csv, '?delete_missing=true'), { status: 400, json: { error: { field: 'delete_missing' } } })
})

await t.test('options of tables are refused where documents alone are sent, as they would have no effect', async (t) => {
  const { form, ended, folders } = await served(t)
  for (const option of ['format=tsv', 'columns=text%3Da', 'ids=line', 'no_quotes=true', 'no_metadata=true']) {
    const [field = ''] = option.split('=')
    const refused = await form({ 'a.md': '# A\n\nText.', 'b.html': '<p>b</p>' }, {}, `?${option}`)
    const message = `${field} applies to tables, and there is none: leave it out.`
    t.match(refused, { status: 400, json: { error: { code: 'invalid_request', field, message } } })
  }
  t.same(await folders(), [])
  const mixed = await form({ 'a.md': 'Text of a.', 'c.csv': 'a,b\nx,Text of c.\n' }, {}, '?columns=id%3Da,text%3Db')
  t.match(await ended(mixed), { state: 'done', counters: { accepted: 2 } })
  t.match(await form({ 'a.md': 'Text of a.' }, {}, '?no_quotes=false&label=x'), { status: 202 })
})

await t.test('an archive gives the files in it, with their paths', async (t) => {
  const { index, form, post, ended } = await served(t)
  const entries = [
    { name: 'docs/lamps.md', content: NOTE },
    { name: 'docs/ports.tsv', content: TABLE },
    { name: 'docs/inner.zip', content: 'PK' },
    { name: '__MACOSX/docs/._lamps.md', content: 'x' },
  ]
  const expected = {
    state: 'done',
    counters: { accepted: 2 },
    files: {
      indexed: 2,
      left_out: [
        { kind: '._lamps.md', reason: 'hidden' },
        { kind: '.zip', reason: 'not_supported' },
        { kind: '.md', reason: 'link' },
      ],
    },
  }
  const zip = makeZip([...entries, { name: 'docs/link.md', content: '/etc/passwd', link: true }])
  t.match(await ended(await form({ 'docs.zip': zip })), expected)
  const [lamps] = await index.list({ filter: { source: 'docs/lamps.md' }, limit: 1 })
  t.match(lamps, { title: 'Lamps', metadata: { kind: 'markdown', modified: /^20/ } })
  t.match(await ended(await post(zip, { 'content-type': 'application/zip' })), { ...expected, counters: { skipped: 2 } })
  const tar = gzipSync(await makeTar([...entries, { name: 'docs/link.md', type: 'symlink', linkname: '/etc/passwd' }]))
  t.match(await ended(await form({ 'docs.tar.gz': tar })), expected)
  t.match(await ended(await form({ 'a.zip': zip, 'b.md': NOTE })), { files: { indexed: 3 } })
  t.equal(await index.count({ source: ['a/docs/lamps.md', 'b.md'] }), 2, 'of several, under its name')
  t.match(await ended(await form({ 'c.zip': makeZip([{ name: 'K\u00fcste.md', content: NOTE }]) })), { files: { indexed: 1 } })
  t.equal(await index.count({ source: ['K\u00fcste.md'] }), 1, 'a name in UTF-8 without its flag')
})

/** A tar archive whose first header was changed, with the checksum of that. */
function withSum(tar: Buffer): Buffer {
  tar.fill(' ', 148, 156)
  const sum = tar.subarray(0, 512).reduce((total, byte) => total + byte, 0)
  tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return tar
}

/** A tar archive of one file whose name is in Latin-1. */
async function latinTar(name: string, content: string): Promise<Buffer> {
  const tar = await makeTar([{ name: name.replace(/[\u0080-\u00ff]/g, '_'), content }])
  tar.write(name, 'latin1')
  return withSum(tar)
}

await t.test('archives of a folder itself, as `tar cf a.tar .` makes them, and those of the first tar are read', async (t) => {
  const { index, form, ended } = await served(t)
  const first = await makeTar([{ name: 'first.md', content: NOTE }])
  // Without the mark of later formats.
  first.fill(0, 257, 265)
  const archives = {
    'a.tar': await makeTar([
      { name: './', type: 'directory' },
      { name: './packed.md', content: NOTE },
    ]),
    'b.zip': makeZip([
      { name: './', content: '' },
      { name: './zipped.md', content: NOTE },
    ]),
    'c.tar': withSum(first),
  }
  for (const [name, archive] of Object.entries(archives)) t.match(await ended(await form({ [name]: archive })), { state: 'done' }, name)
  t.same((await index.sources()).map(({ source }) => source).sort(), ['first.md', 'packed.md', 'zipped.md'])
})

await t.test('names that are not UTF-8 stay apart in archives, and are refused in forms', async (t) => {
  const { index, post, ended } = await served(t)
  const tar = { 'content-type': 'application/x-tar' }
  for (const name of ['caf\u00e9.md', 'caf\u00e8.md', 'caf\u0142.md']) {
    const archive = await (name.includes('\u0142') ? makeTar([{ name, content: NOTE }]) : latinTar(name, NOTE))
    t.match(await ended(await post(archive, tar)), { state: 'done' }, name)
  }
  t.same((await index.sources()).map(({ source }) => source).sort(), ['caf\u00e8.md', 'caf\u00e9.md', 'caf\u0142.md'])
  const form = { 'content-type': 'multipart/form-data; boundary=b' }
  const part = (header: string, content: string) =>
    Buffer.from(`--b\r\ncontent-disposition: form-data; name="file"${header}\r\n\r\n${content}\r\n--b--\r\n`, 'latin1')
  t.match(await post(part('; filename="caf\u00e9.md"', NOTE), form), {
    status: 400,
    json: {
      error: { field: 'file', message: 'file has a name that is not UTF-8: send the name in that encoding, or rename the file.' },
    },
  })
  t.match(await post(part('; filename="a.md"\r\ncontent-transfer-encoding: base64', 'TGFtcHM='), form), {
    status: 400,
    json: { error: { field: 'file', message: 'file is sent as base64: send its bytes.' } },
  })
  const unnamed = await post(part('\r\ncontent-type: application/octet-stream', TABLE), form)
  t.match(await ended(unnamed), { state: 'done', source: { name: 'upload' }, counters: { committed: 1 } }, 'a file may have no name')
})

await t.test('archives that are hostile or broken are refused, and leave nothing behind', async (t) => {
  const { form, folders, dir } = await served(t, 70 * MB)
  const refused = async (files: Record<string, Buffer>, code: string, message: RegExp, status = 422) =>
    t.match(await form(files), { status, json: { error: { code, message } } })
  for (const name of ['../escape.md', '/etc/escape.md', 'a/../../escape.md', 'C:\\escape.md']) {
    await refused({ 'a.zip': makeZip([{ name, content: NOTE }]) }, 'corpus_invalid', /escape|path/)
    await refused({ 'a.tar': await makeTar([{ name, content: NOTE }]) }, 'corpus_invalid', /leads out/)
  }
  const zip = makeZip([{ name: 'a.md', content: NOTE }])
  await refused({ 'a.zip': zip.subarray(0, zip.length - 30) }, 'corpus_invalid', /damaged/)
  await refused({ 'a.zip': Buffer.from('no archive') }, 'corpus_invalid', /damaged/)
  await refused({ 'a.zip': makeZip([{ name: 'a.md', content: NOTE.repeat(50), says: 10 }]) }, 'corpus_invalid', /damaged/)
  const tar = gzipSync(await makeTar([{ name: 'a.md', content: NOTE.repeat(500) }]))
  await refused({ 'a.tar.gz': tar.subarray(0, tar.length - 20) }, 'corpus_invalid', /damaged/)
  await refused({ 'a.tar': Buffer.alloc(1024) }, 'corpus_invalid', /empty/)
  await refused({ 'a.zip': makeZip([{ name: 'a.md', content: Buffer.alloc(66 * MB, 'a ') }]) }, 'payload_too_large', /100 times/, 413)
  await refused(
    { 'a.tgz': gzipSync(await makeTar([{ name: 'a.md', content: Buffer.alloc(66 * MB) }])) },
    'payload_too_large',
    /bomb|100/,
    413,
  )
  await refused(
    {
      'a.zip': makeZip([
        { name: 'a.md', content: NOTE },
        { name: 'a.md', content: NOTE },
      ]),
    },
    'invalid_request',
    /twice/,
    400,
  )
  const many = makeZip(Array.from({ length: 20_001 }, (_, i) => ({ name: `${i}.bin`, content: '' })))
  await refused({ 'a.zip': many }, 'payload_too_large', /entries/, 413)
  t.same(await folders(), [])
  t.same((await readdir(dir)).sort(), ['import', 'index'], 'nothing was written beside')
})

await t.test('an upload above the limit names the whole limit, not what earlier files left of it', async (t) => {
  const { form, folders } = await served(t, 1000)
  const files = await form({ 'a.md': Buffer.alloc(700, 'a '), 'b.md': Buffer.alloc(700, 'a ') })
  t.match(files, { status: 413, json: { error: { code: 'payload_too_large', message: /^The upload has more than 1000 bytes/ } } })
  const zip = makeZip([{ name: 'a.md', content: Buffer.alloc(700, 'a ') }])
  t.match(await form({ 'a.zip': zip, 'b.zip': zip }), {
    status: 413,
    json: { error: { code: 'payload_too_large', message: /expands to more than 1000 bytes/ } },
  })
  t.same(await folders(), [])
})

await t.test('an archive of many entries is counted before it is read, and its files are synced together', async (t) => {
  const { dir, form, ended, folders } = await served(t)
  const tooMany = makeZip(Array.from({ length: 60_000 }, (_, i) => ({ name: `${i}.md`, content: '' })))
  const watched: string[] = []
  await mkdir(join(dir, 'index', 'jobs'), { recursive: true })
  const watcher = watch(join(dir, 'index', 'jobs'), { recursive: true }, (_, file) => watched.push(String(file)))
  t.teardown(() => watcher.close())
  t.match(await form({ 'a.zip': tooMany }), { status: 413, json: { error: { message: /entries/ } } })
  t.same(await folders(), [])
  t.same(
    watched.filter((file) => file.endsWith('000002')),
    [],
    'nothing of it was unpacked',
  )

  const handle = await open(join(dir, 'probe'), 'w')
  const files = Object.getPrototypeOf(handle) as Pick<typeof handle, 'sync'>
  const sync = Reflect.get<typeof files, 'sync'>(files, 'sync')
  await handle.close()
  let [running, most, all] = [0, 0, 0]
  files.sync = async function (this: typeof handle) {
    all++
    most = Math.max(most, ++running)
    await sync.call(this)
    running--
  }
  t.teardown(() => (files.sync = sync))
  const count = 500
  const zip = makeZip(Array.from({ length: count }, (_, i) => ({ name: `${i}.txt`, content: i === 7 ? NOTE : '' })))
  const sent = await form({ 'a.zip': zip })
  t.ok(all >= count, `each of ${count} files was synced: ${all} times`)
  t.ok(most >= 8, `${most} at a time`)
  t.match(await ended(sent), { state: 'done', files: { indexed: 1 }, counters: { accepted: 1 } })
})

await t.test('a form sent again with the same idempotency key is one job', async (t) => {
  const { jobs, form, ended } = await served(t)
  const key = { 'idempotency-key': 'once' }
  const first = await form({ 'a.md': NOTE, 'b.md': `${NOTE}More.` }, key)
  t.equal((await form({ 'a.md': NOTE, 'b.md': `${NOTE}More.` }, key)).json.id, first.json.id)
  t.equal((await form({ 'a.md': NOTE, 'c.md': `${NOTE}More.` }, key)).status, 422)
  await ended(first)
  t.equal((await jobs.list()).length, 1)
})
