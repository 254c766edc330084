import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { listNames } from '../../index/store/objects.ts'
import { runCli, startServer } from '../helpers/cli.ts'
import { folderOf, KEY, settingsOf, WITH_STORE } from '../helpers/object-store-process.ts'
import { startObjectStore } from '../helpers/object-store.ts'
import { somePassages } from '../index/helpers.ts'
import { toTsv } from '../jobs/helpers.ts'

type Settings = Record<string, string>

/** What depends on when and where something was made. */
function withoutPlaces(text: string, dir: string): string {
  return text
    .replaceAll(dir, '(dir)')
    .replace(/s3:\/\/[^\s"]+\/index/g, '(index)')
    .replaceAll('(dir)/index', '(index)')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '(time)')
    .replace(/\d{8}T\d{9}-[0-9a-f]{4}/g, '(job)')
    .replace(/passages\.[\w-]+/g, 'passages.(stored)')
    .replace(/\d+ kB/g, '(size)')
}

/** What a user does with an index by the commands, and what each says. */
async function commandsOn(dir: string, env: Settings): Promise<string[]> {
  const files = { one: path.join(dir, 'one.tsv'), two: path.join(dir, 'two.tsv'), other: path.join(dir, 'other.tsv') }
  await writeFile(files.one, toTsv(somePassages(40)))
  await writeFile(files.two, toTsv(somePassages(30, 30)))
  await writeFile(files.other, toTsv(somePassages(12, 200)))
  const said: string[] = []
  const run = async (...args: string[]): Promise<void> => {
    const { code, stdout, stderr } = await runCli(['index', ...args], env)
    const lines = withoutPlaces(stdout, dir).split('\n')
    // Passages come in no order.
    said.push(`${args.slice(0, 2).join(' ')}: ${code} ${(args[0] === 'export' ? lines.sort() : lines).join('\n')}`)
    if (code !== 0) said.push(withoutPlaces(stderr, dir))
  }
  await run('add', files.one)
  await run('add', files.two)
  await run('sources')
  await run('snapshot', 'create', 'before')
  await run('snapshot', 'create', 'before')
  await run('delete', '--source', 'two.tsv')
  await run('sources')
  await run('export')
  await run('snapshot', 'create', 'after')
  await run('snapshot', 'list')
  await run('snapshot', 'restore', 'before')
  await run('export', '--source', 'two.tsv')
  await run('snapshot', 'delete', 'before')
  await run('snapshot', 'restore', 'before')
  await run('snapshot', 'restore', 'after')
  await run('sources')
  await run('add', files.other, '--table', 'others')
  await run('alias', 'others')
  await run('alias', 'nothing')
  await run('sources')
  await run('compact', '--dry-run')
  await run('compact')
  await run('cleanup')
  await run('export')
  return said
}

/** The same by the routes of an indexer. */
async function routesOn(t: Test, env: Settings): Promise<unknown[]> {
  const server = await startServer({ ...env, CEPE_ROLE: 'indexer' })
  t.teardown(() => server.stop('SIGKILL'))
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const ask = async (method: string, route: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(server.url + route, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
    return [method, route, response.status, withoutPlaces((await response.text()).split('\n').sort().join('\n'), '(none)')]
  }
  const passages = somePassages(6, 400)
  const seen = [
    await ask('PUT', '/v1/passages', { passages }),
    await ask('GET', '/v1/admin/sources'),
    await ask('GET', '/v1/admin/passages?limit=4'),
    await ask('GET', '/v1/admin/passages?limit=4&after=p203'),
    await ask('GET', '/v1/admin/passages?source=even.tsv'),
    await ask('GET', '/v1/admin/passages/export?source=odd.tsv'),
    await ask('POST', '/v1/passages/delete', { filter: { source: 'odd.tsv' } }),
    await ask('POST', '/v1/passages/delete', { ids: ['p400', 'none'] }),
    await ask('DELETE', '/v1/passages/p402'),
    await ask('DELETE', '/v1/passages/p402'),
    await ask('GET', '/v1/passages/p404'),
    await ask('GET', '/v1/admin/passages/export'),
    await ask('GET', '/v1/admin/sources'),
  ]
  t.equal(await server.stop(), 0)
  return seen
}

await t.test(
  'contents, snapshots and upkeep by command and route are in an object store what they are in a folder',
  WITH_STORE,
  async (t) => {
    const store = await startObjectStore(t)
    const inStore = await folderOf(t)
    const inFolder = await mkdtemp(path.join(tmpdir(), 'cepe-contents-'))
    t.teardown(() => rm(inFolder, { recursive: true, force: true }))
    const address = store.address()
    const stored = settingsOf(store, inStore, address)
    // The models are built once.
    const kept = { ...settingsOf(store, inStore, path.join(inFolder, 'index')), CEPE_JOBS_DIR: path.join(inFolder, 'jobs') }
    const byStore = await commandsOn(inStore, stored)
    const byFolder = await commandsOn(inFolder, kept)
    t.same(byStore, byFolder)
    t.equal(byStore.length, 27, 'four of the commands are refused')
    t.match(byStore.join('\n'), /deleted/)
    t.same(await routesOn(t, stored), await routesOn(t, kept))
    t.notOk(
      (await listNames(address)).some((name) => name.includes('.new') || name.includes('.aside')),
      'nothing is left over',
    )
  },
)
