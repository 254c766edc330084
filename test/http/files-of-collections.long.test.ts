import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { addKey } from '../../src/keys/store.ts'
import type { Job } from '../../src/jobs/record/schema.ts'
import { makeZip } from '../fixtures/zip.ts'
import { startServer } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'

const SECRET = 'Ann earns nine thousand a month.'
const CONTRACT = 'The contract of the mole ends in May.'
const MISSING = 404

t.test('a file is served only for a passage that a job made of it, and bound keys keep to the folder of their collection', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-bound-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const keysDir = path.join(dir, 'keys')
  const importDir = path.join(dir, 'import')
  await mkdir(path.join(importDir, 'hr'), { recursive: true })
  await mkdir(path.join(importDir, 'law'))
  await writeFile(path.join(importDir, 'hr', 'salaries.txt'), SECRET)
  await writeFile(path.join(importDir, 'hr', 'pay.csv'), `id,text\np1,${SECRET}\n`)
  await writeFile(path.join(importDir, 'pay.csv'), `id,text\np1,${SECRET}\n`)
  await writeFile(path.join(importDir, 'law', 'contract.txt'), CONTRACT)
  await writeFile(path.join(importDir, 'law', 'salaries.txt'), 'The law of salaries is short.')
  const keys = {
    root: await addKey(keysDir, { name: 'root', role: 'admin' }),
    ann: await addKey(keysDir, { name: 'ann', role: 'user' }),
    liz: await addKey(keysDir, { name: 'liz', role: 'admin', collections: ['law'] }),
    lee: await addKey(keysDir, { name: 'lee', role: 'user', collections: ['law'] }),
  }
  type Name = keyof typeof keys
  const server = await startServer(tinyShared(dir, { CEPE_KEYS_DIR: keysDir, CEPE_IMPORT_DIR: importDir, CEPE_SERVE_FILES: 'true' }))
  t.teardown(() => server.stop('SIGKILL'))
  const send = async (key: Name, method: string, url: string, body?: object) => {
    const isForm = body instanceof FormData
    const response = await fetch(server.url + url, {
      method,
      headers: { authorization: `Bearer ${keys[key]}`, ...(body && !isForm && { 'content-type': 'application/json' }) },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.text() }
  }
  const order = async (key: Name, collection: string, body: object, query = '') => {
    const isForm = body instanceof FormData
    const made = isForm
      ? await send(key, 'POST', `/v1/admin/index-jobs?collection=${collection}${query}`, body)
      : await send(key, 'POST', '/v1/admin/index-jobs', { collection, ...body })
    if (made.status !== 202) return made
    for (;;) {
      const { body: text } = await send('root', 'GET', `/v1/admin/index-jobs/${(JSON.parse(made.body) as Job).id}`)
      const { state } = JSON.parse(text) as Job
      if (['done', 'failed', 'stopped', 'cancelled'].includes(state)) return { status: made.status, body: state }
      await sleep(50)
    }
  }
  const file = (key: Name, id: string, collection = 'law') =>
    send(key, 'GET', `/v1/passages/${encodeURIComponent(id)}/file?collection=${collection}`)
  /** Whether a passage has a link to its file. */
  const offered = async (key: Name, id: string, collection = 'law') => {
    const { body } = await send(key, 'GET', `/v1/passages/${encodeURIComponent(id)}?collection=${collection}`)
    return 'file' in (JSON.parse(body) as object)
  }
  const idOf = async (source: string, collection = 'law') => {
    const { body } = await send('root', 'GET', `/v1/admin/passages?collection=${collection}&source=${encodeURIComponent(source)}`)
    return (JSON.parse(body) as { passages: { id: string }[] }).passages[0]?.id ?? 'none'
  }
  const put = (key: Name, id: string, source: string) =>
    send(key, 'PUT', '/v1/passages?collection=law', { passages: [{ id, title: '', text: 'x', source }] })
  for (const name of ['hr', 'law']) t.equal((await send('root', 'PUT', `/v1/collections/${name}`)).status, 201)
  t.same(await order('root', 'hr', { source: 'hr' }), { status: 202, body: 'done' })

  for (const source of ['hr', 'hr/', './hr', 'hr/salaries.txt', 'hr/none.txt', '.', './', 'pay.csv', 'none', 'law/../hr', 'LAW', 'lawyers'])
    t.equal((await order('liz', 'law', { source })).status, 403, `a key bound to law imports no ${source}`)
  t.same(await order('liz', 'law', { source: './law/' }), { status: 202, body: 'done' })
  for (const key of ['liz', 'lee', 'ann', 'root'] as const)
    t.same(await file(key, await idOf('law/contract.txt')), { status: 200, body: CONTRACT }, key)
  for (const key of ['liz', 'lee', 'ann', 'root'] as const) t.ok(await offered(key, await idOf('law/contract.txt')), key)
  for (const key of ['ann', 'root'] as const) t.ok(await offered(key, await idOf('hr/salaries.txt', 'hr'), 'hr'), key)

  const claims = ['hr/salaries.txt', 'hr/pay.csv', 'pay.csv', 'law/none.txt', './hr/salaries.txt', 'law/../hr/salaries.txt']
  for (const source of claims)
    for (const id of ['claimed', `${source}#claimed`]) {
      t.equal((await put('liz', id, source)).status, 200)
      for (const key of ['liz', 'lee'] as const) {
        t.equal((await file(key, id)).status, MISSING, `${key} reads no ${source} by ${id}`)
        t.notOk(await offered(key, id), `${key} is offered no ${source} by ${id}`)
      }
    }
  t.equal((await put('root', 'claimed', 'law/contract.txt')).status, 200)
  t.equal((await file('root', 'claimed')).status, MISSING, 'nor is the file of another passage given for it')
  t.notOk(await offered('root', 'claimed'))

  const form = (name: string, content: string | Buffer) => {
    const made = new FormData()
    made.append('file', new Blob([content]), name)
    return made
  }
  const uploads: [string, FormData, string][] = [
    ['hr/salaries.txt', form('salaries.txt', 'An upload of law.'), '&label=hr'],
    ['hr/salaries.txt', form('a.zip', makeZip([{ name: 'hr/salaries.txt', content: 'An archive of law.' }])), ''],
    ['hr/salaries.txt', form('a.jsonl', JSON.stringify({ id: 'hr/salaries.txt#1', text: 'A row.', source: 'hr/salaries.txt' })), ''],
    ['hr/pay.csv', form('a.jsonl', JSON.stringify({ id: 'row', text: 'A row.', source: 'hr/pay.csv' })), ''],
    ['hr/pay.csv', form('pay.csv', 'id,text\nx,A row.\n'), '&label=hr%2Fpay.csv'],
    ['pay.csv', form('pay.csv', 'id,text\ny,A row.\n'), ''],
  ]
  for (const [source, body, query] of uploads) {
    t.same(await order('liz', 'law', body, query), { status: 202, body: 'done' })
    for (const key of ['liz', 'lee', 'root'] as const)
      t.equal((await file(key, await idOf(source))).status, MISSING, `${key} reads no ${source} by an upload${query}`)
    await send('root', 'POST', '/v1/passages/delete?collection=law', { filter: { source: [source] } })
  }
  t.same(await order('liz', 'law', { source: 'law', label: 'hr' }), { status: 202, body: 'done' })
  t.match(
    await file('lee', await idOf('hr/salaries.txt')),
    { status: 200, body: 'The law of salaries is short.' },
    'the file that the job read',
  )

  t.same(await order('root', 'law', { source: 'hr', label: 'staff' }), { status: 202, body: 'done' })
  const staff = await idOf('staff/salaries.txt')
  t.same(await file('ann', staff), { status: 200, body: SECRET })
  for (const key of ['liz', 'lee'] as const) t.equal((await file(key, staff)).status, MISSING, `${key} keeps to the folder law`)

  const contract = await idOf('law/contract.txt')
  await rename(path.join(importDir, 'law', 'contract.txt'), path.join(importDir, 'law', 'aside.txt'))
  await symlink('../hr/salaries.txt', path.join(importDir, 'law', 'contract.txt'))
  for (const key of ['lee', 'root'] as const) t.equal((await file(key, contract)).status, MISSING, 'no link is followed')
  await rm(path.join(importDir, 'law'), { recursive: true })
  await symlink('hr', path.join(importDir, 'law'))
  t.equal((await order('liz', 'law', { source: 'law' })).status, 403)
  t.equal((await file('lee', await idOf('hr/salaries.txt'))).status, MISSING)
  t.equal(await server.stop(), 0)
})
