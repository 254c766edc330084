import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import type { Passage } from '../../index/contract.ts'
import { listNames } from '../../index/store/object-store/objects.ts'
import { runCli, startServer } from '../helpers/cli.ts'
import { folderOf, KEY, settingsOf, WITH_STORE } from '../helpers/object-store-process.ts'
import { startObjectStore } from '../helpers/object-store.ts'
import { somePassages } from '../index/helpers.ts'
import { toTsv } from '../jobs/helpers.ts'

/** Passages of a file, as the index has them. */
const ONE = somePassages(40)
const TWO = somePassages(30, 30)
const OTHER = somePassages(12, 200)

function idsOf(lines: string): string[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { id: string }).id)
    .sort()
}

function idsFrom(passages: readonly { readonly id: string }[]): string[] {
  return passages.map(({ id }) => id).sort()
}

await t.test('contents, snapshots and upkeep by command and by route, in an object store', WITH_STORE, async (t) => {
  const store = await startObjectStore(t)
  const dir = await folderOf(t)
  const address = store.address()
  const env = settingsOf(store, dir, address)
  const file = async (name: string, passages: readonly Passage[]): Promise<string> => {
    await writeFile(path.join(dir, name), toTsv(passages))
    return path.join(dir, name)
  }
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCli(['index', ...args], env)
    return code === 0 ? stdout : `${code} ${stderr}`
  }
  t.match(await run('add', await file('one.tsv', ONE), await file('two.tsv', TWO)), /done.*\n.*done/)
  t.equal(await run('snapshot', 'create', 'before'), 'before: snapshot of 60 passages created\n')
  t.match(await run('snapshot', 'create', 'before'), /^1 .*There is a snapshot "before" already/s)
  t.equal(await run('delete', '--source', 'two.tsv'), '30 passages deleted\n')
  t.equal(await run('sources'), '30\tone.tsv\n')
  t.match(await run('snapshot', 'list'), /^before\t\S+\t60 passages\t[1-9]\d* kB freed if deleted\t/)
  t.equal(await run('snapshot', 'restore', 'before'), 'passages: 60 passages, restored from before\n')
  t.same(idsOf(await run('export', '--source', 'two.tsv')), idsFrom(TWO))
  t.equal(await run('snapshot', 'delete', 'before'), 'before: deleted\n')
  t.same(await listNames(`${address}/passages.snapshots`), ['.lock'], 'and nothing of it is left')
  t.match(await run('add', await file('other.tsv', OTHER), '--table', 'others'), /done/)
  t.equal(await run('alias', 'others'), 'passages: 12 passages, as in others\n')
  t.match(await run('compact'), /^passages: .*\nnow: 1 fragment /)
  t.match(await run('cleanup'), /^passages: .*\nnow: /)

  const server = await startServer({ ...env, CEPE_ROLE: 'indexer' })
  t.teardown(() => server.stop('SIGKILL'))
  const ADMIN = { authorization: `Bearer ${KEY}` }
  const ask = async (method: string, route: string, body?: unknown): Promise<{ status: number; text: string }> => {
    const response = await fetch(server.url + route, {
      method,
      ...(body === undefined
        ? { headers: ADMIN }
        : { headers: { ...ADMIN, 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    return { status: response.status, text: await response.text() }
  }
  const put = somePassages(6, 400)
  t.match(await ask('PUT', '/v1/passages', { passages: put }), { status: 200, text: /"upserted":6/ })
  t.match(JSON.parse((await ask('GET', '/v1/admin/sources')).text), {
    sources: [
      { source: 'other.tsv', passages: 12 },
      { source: 'even.tsv', passages: 3 },
      { source: 'odd.tsv', passages: 3 },
    ],
  })
  t.match(JSON.parse((await ask('GET', '/v1/admin/passages?limit=4&after=p203')).text), {
    passages: [{ id: 'p204' }, {}, {}, { id: 'p207' }],
  })
  t.match(JSON.parse((await ask('GET', '/v1/admin/passages?source=even.tsv')).text), {
    passages: [{ id: 'p400' }, { id: 'p402' }, { id: 'p404' }],
  })
  t.match(await ask('POST', '/v1/passages/delete', { filter: { source: 'odd.tsv' } }), { status: 200, text: /"deleted":3/ })
  t.match(await ask('DELETE', '/v1/passages/p402'), { status: 200 })
  t.match(await ask('DELETE', '/v1/passages/p402'), { status: 404 })
  t.same(idsOf((await ask('GET', '/v1/admin/passages/export')).text), idsFrom([...OTHER, { id: 'p400' }, { id: 'p404' }]))
  t.same(idsOf((await ask('GET', '/v1/admin/passages/export?source=even.tsv')).text), ['p400', 'p404'])
  t.equal(await server.stop(), 0)
})
