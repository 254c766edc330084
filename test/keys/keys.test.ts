import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, chown, mkdir, readdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { processTag } from '../../base/process-tag.ts'
import { createAdmission } from '../../src/inference/pool/admission.ts'
import { openKeys } from '../../src/keys/keys.ts'
import { createQuotas, usageOfDay } from '../../src/keys/quota.ts'
import { addKey, revokeKey } from '../../src/keys/store.ts'
import { runCli } from '../helpers/cli.ts'
import { CLI } from '../helpers/processes.ts'
import { until } from '../helpers/until.ts'

async function recordsIn(dir: string) {
  const keys = await openKeys({ dir })
  keys.close()
  return keys.records
}

t.test('a key is shown once and kept as a hash that only its owner may read', async (t) => {
  const dir = path.join(t.testdir(), 'keys')
  const key = await addKey(dir, { name: 'ann', role: 'user', questions_per_day: 5 })
  t.match(key, /^cepe_[\w-]{43}$/)
  const [file] = await readdir(dir)
  t.equal((await stat(path.join(dir, file ?? ''))).mode & 0o777, 0o600)
  t.notMatch(await readFile(path.join(dir, file ?? ''), 'utf8'), key.slice(5))
  t.match(await recordsIn(dir), [{ name: 'ann', role: 'user', sha256: /^[0-9a-f]{64}$/, questions_per_day: 5 }])
  t.not(await addKey(dir, { name: 'bob', role: 'user' }), key)
  await t.rejects(addKey(dir, { name: 'ann', role: 'admin' }), { code: 'conflict' })
  for (const name of ['', '../x', 'a b', '.hidden', 'x'.repeat(65)])
    await t.rejects(addKey(dir, { name, role: 'user' }), { code: 'options_invalid' }, JSON.stringify(name))
  for (const collections of [[], ['../x'], ['law', 'law'], ['1st'], [''], Array.from({ length: 101 }, (_, i) => `c${i}`)])
    await t.rejects(addKey(dir, { name: 'lee', role: 'user', collections }), { code: 'options_invalid', field: 'collections' })
  await revokeKey(dir, 'ann')
  await t.rejects(addKey(dir, { name: 'ann', role: 'user' }), { code: 'conflict' }, 'what a name meant in a log stays so')
  await t.rejects(revokeKey(dir, 'carl'), { code: 'not_found' })
  t.same((await readdir(dir)).sort(), ['ann.key.json', 'bob.key.json'], 'nothing half-written is left')
})

t.test('files of killed processes are removed by a later command, whatever their age, and none of a live one', async (t) => {
  const dir = t.testdir({ 'ours.tmp': '', 'it.key.json.1.tmp': '' })
  const env = { CEPE_KEYS_DIR: dir }
  const live = await processTag()
  const [place = ''] = live.split('-')
  const unfinished = (tag: string): string => `eve.key.json.${tag}.1c9bb6a2-0c59-4a3e-9f0e-0d2d1d7d3d0a.tmp`
  const [alive, elsewhere] = [unfinished(live), unfinished(`${'0'.repeat(16)}-7-1`)]
  for (const name of [alive, unfinished(`${place}-${2 ** 22 + 1}-1`), elsewhere]) await writeFile(path.join(dir, name), '{')
  const hours = new Date(Date.now() - 2 * 3_600_000)
  await utimes(path.join(dir, alive), hours, hours)
  t.equal((await runCli(['keys', 'add', 'ann'], env)).code, 0)
  t.same((await readdir(dir)).sort(), ['ann.key.json', alive, elsewhere, 'it.key.json.1.tmp', 'ours.tmp'].sort())
  const days = new Date(Date.now() - 2 * 24 * 3_600_000)
  for (const name of await readdir(dir)) await utimes(path.join(dir, name), days, days)
  t.equal((await runCli(['keys', 'revoke', 'ann'], env)).code, 0)
  t.same((await readdir(dir)).sort(), ['ann.key.json', alive, 'it.key.json.1.tmp', 'ours.tmp'].sort())
})

t.test('a key that root makes or revokes can be read by the service that runs as the owner of the folder', async (t) => {
  const owner = process.getuid?.() === 0 ? 65_534 : (process.getuid?.() ?? 0)
  const parent = t.testdir()
  await chown(parent, owner, -1)
  const dir = path.join(parent, 'keys')
  const ownerOf = async (file: string) => (await stat(path.join(dir, file))).uid
  t.equal((await runCli(['keys', 'add', 'ann'], { CEPE_KEYS_DIR: dir })).code, 0)
  t.same([await ownerOf('.'), await ownerOf('ann.key.json')], [owner, owner])
  t.equal((await runCli(['keys', 'revoke', 'ann'], { CEPE_KEYS_DIR: dir })).code, 0)
  t.equal(await ownerOf('ann.key.json'), owner, 'otherwise the service would accept it further')
})

t.test('two processes that make keys at once: none is lost, and of one name there is one', async (t) => {
  const dir = path.join(t.testdir(), 'keys')
  const env = { CEPE_KEYS_DIR: dir }
  const bound = ['--collections', 'law, med']
  const made = await Promise.all(
    ['a', 'b', 'same', 'same'].map((name) => runCli(['keys', 'add', name, ...(name === 'b' ? bound : [])], env)),
  )
  t.same(
    made.map(({ code }) => code).sort((a, b) => Number(a) - Number(b)),
    [0, 0, 0, 1],
  )
  t.match(made.find(({ code }) => code === 1)?.stderr, /There is, or was, a key named same/)
  t.same(
    (await recordsIn(dir)).map(({ name }) => name),
    ['a', 'b', 'same'],
  )
  const keys = await openKeys({ dir })
  for (const { code, stdout } of made) t.equal(keys.find(stdout.trim()) !== undefined, code === 0)
  keys.close()
  t.equal((await runCli(['keys', 'revoke', 'a'], env)).code, 0)
  const { stdout } = await runCli(['keys', 'list'], env)
  t.match(stdout, /^a {2}user, made \d{4}-\d\d-\d\d, 0 questions today, revoked/m)
  t.match(stdout, /^b {2}user, .*, collections law med$/m)
  t.notMatch(stdout, /cepe_/)
})

t.test('a key that cannot be printed is not made', { skip: process.platform === 'linux' ? false : 'needs /dev/full' }, async (t) => {
  const dir = path.join(t.testdir(), 'keys')
  const env = { ...process.env, CEPE_KEYS_DIR: dir }
  for (const to of ['> /dev/full', '| true']) {
    const asked = promisify(execFile)('bash', ['-o', 'pipefail', '-c', `'${process.execPath}' '${CLI}' keys add ann ${to}`], { env })
    await t.rejects(asked, { code: 1 }, to)
    t.same(await recordsIn(dir), [], to)
  }
  t.match(await runCli(['keys', 'add', 'ann'], { CEPE_KEYS_DIR: dir }), { code: 0, stdout: /^cepe_/ })
})

t.test('a list goes on past a damaged file, names it and ends with 1', async (t) => {
  const dir = path.join(t.testdir(), 'keys')
  for (const name of ['ann', 'bob', 'carl']) await addKey(dir, { name, role: 'user' })
  await writeFile(path.join(dir, 'bob.key.json'), '{"name": "bo')
  await writeFile(path.join(dir, 'usage.json'), '{"2026-11-22 ann": 5')
  const { code, stdout, stderr } = await runCli(['keys', 'list'], { CEPE_KEYS_DIR: dir })
  t.match(stdout, /^ann .*\ncarl .*\n$/)
  t.match(stderr, /^cepe: The count of questions, .*usage\.json, is damaged: .*\ncepe: .*bob\.key\.json is no key's file: .*\n$/)
  t.equal(code, 1)
})

t.test('a running service follows the folder, and never opens again', async (t) => {
  const dir = path.join(t.testdir(), 'keys')
  const said: string[] = []
  const keys = await openKeys({ dir, pollMs: 5, log: (_level, message) => said.push(message) })
  t.teardown(() => keys.close())
  t.equal(keys.required, false)
  const user = await addKey(dir, { name: 'ann', role: 'user' })
  const admin = await addKey(dir, { name: 'root', role: 'admin' })
  await until(() => keys.hasAdmin)
  t.equal(keys.required, true)
  t.match(keys.find(user), { name: 'ann', role: 'user' })
  t.match(keys.find(admin), { name: 'root', role: 'admin' })
  t.equal(keys.find(`${user}x`), undefined)

  await writeFile(path.join(dir, 'broken.key.json'), '{"name": "bro')
  await until(() => said.length > 0)
  t.match(said, [/broken\.key\.json is no key's file/])
  t.match(keys.find(user), { name: 'ann' }, 'keys stay as they were')
  await t.rejects(openKeys({ dir }), { code: 'config_invalid', field: 'CEPE_KEYS_DIR', message: /broken/ }, 'but nothing starts with them')

  await revokeKey(dir, 'ann')
  await until(() => keys.find(user) === undefined)
  t.equal(keys.find(user), undefined)
  t.equal(keys.required, true, 'the last user key is revoked')
  await rm(dir, { recursive: true })
  await until(() => !keys.hasAdmin)
  t.equal(keys.required, true, 'or the folder is gone')
})

t.test('a damaged file keeps its last good content and holds up no other', async (t) => {
  const dir = path.join(t.testdir(), 'keys')
  const said: string[] = []
  const ann = await addKey(dir, { name: 'ann', role: 'user' })
  const bob = await addKey(dir, { name: 'bob', role: 'user' })
  const carl = await addKey(dir, { name: 'carl', role: 'user' })
  const keys = await openKeys({ dir, pollMs: 5, log: (_level, message) => said.push(message) })
  t.teardown(() => keys.close())
  t.equal(keys.unreadable, 0)
  const file = path.join(dir, 'ann.key.json')
  const good = await readFile(file, 'utf8')
  await writeFile(file, good.slice(0, 50))
  await until(() => keys.unreadable > 0)
  t.match(keys.find(ann), { name: 'ann' })

  await rm(path.join(dir, 'bob.key.json'))
  await until(() => keys.find(bob) === undefined)
  t.equal(keys.find(bob), undefined, 'removed')
  t.equal((await runCli(['keys', 'revoke', 'carl'], { CEPE_KEYS_DIR: dir })).code, 0, 'only its own file is needed')
  await until(() => keys.find(carl) === undefined)
  t.equal(keys.find(carl), undefined, 'revoked')
  const dora = await addKey(dir, { name: 'dora', role: 'user' })
  await until(() => keys.find(dora) !== undefined)
  t.match(keys.find(dora), { name: 'dora' }, 'made')

  t.equal(keys.unreadable, 1)
  t.match(said, [/ann\.key\.json/], 'said once')
  await t.rejects(revokeKey(dir, 'ann'), { code: 'config_invalid', message: /ann\.key\.json is no key's file: remove it/ })
  await writeFile(file, good)
  await until(() => keys.unreadable === 0)
  await writeFile(file, '')
  await until(() => keys.unreadable > 0)
  await rm(file)
  await until(() => keys.find(ann) === undefined)
  t.same([keys.find(ann), keys.unreadable], [undefined, 0], 'removing a damaged file revokes its key')
  for (const name of ['../keys/dora', 'dora.key.json/../dora']) await t.rejects(revokeKey(dir, name), { code: 'not_found' }, name)
})

t.test('a key whose limits or revocation have a damaged name is not accepted without them', async (t) => {
  const dir = path.join(t.testdir(), 'keys')
  const limits = { requests_per_minute: 5, questions_per_day: 9, collections: ['law'] }
  await addKey(dir, { name: 'ann', role: 'user', ...limits })
  await revokeKey(dir, 'ann')
  const file = path.join(dir, 'ann.key.json')
  const good = await readFile(file, 'utf8')
  for (const field of ['requests_per_minute', 'questions_per_day', 'collections', 'revoked_at']) {
    await writeFile(file, good.replace(`"${field}"`, `"${field.slice(0, -1)}X"`))
    await t.rejects(
      openKeys({ dir }),
      { code: 'config_invalid', message: `${file} is no key's file: remove it, or put its copy back.` },
      field,
    )
  }
})

t.test('a changed value of a key or of the counts is found; files of earlier software have no digest', async (t) => {
  const dir = path.join(t.testdir(), 'keys')
  const key = await addKey(dir, { name: 'ann', role: 'user', questions_per_day: 9, collections: ['law'] })
  const file = path.join(dir, 'ann.key.json')
  const good = await readFile(file, 'utf8')
  const changes = [
    ['"law"', '"lav"'],
    ['"questions_per_day": 9', '"questions_per_day": 8'],
    [/("sha256": ")[^"]/, '$1'],
  ] as const
  for (const [from, to] of changes) {
    await writeFile(file, good.replace(from, to))
    t.not(await readFile(file, 'utf8'), good)
    await t.rejects(openKeys({ dir }), { code: 'config_invalid', message: /ann\.key\.json is no key's file: remove it/ }, String(from))
  }
  const { key: record } = JSON.parse(good) as { key: object }
  await writeFile(file, JSON.stringify(record, null, 2))
  t.match(await revokeKey(dir, 'ann'), { name: 'ann', questions_per_day: 9, collections: ['law'] })
  t.match(await recordsIn(dir), [{ name: 'ann', sha256: createHash('sha256').update(key).digest('hex'), revoked_at: String }])

  const usage = path.join(dir, 'usage.json')
  await writeFile(usage, '{"2026-11-22 ann":5}\n')
  t.same([...(await usageOfDay(dir, '2026-11-22'))], [['ann', 5]])
  const keys = await openKeys({ dir })
  t.teardown(() => keys.close())
  await addKey(dir, { name: 'bob', role: 'user' })
  await until(() => keys.named('bob') !== undefined)
  const quotas = await createQuotas({ dir, keys, now: () => Date.parse('2026-11-22T12:00:00Z') })
  quotas.around(createAdmission({ maxWaiting: 0, concurrency: 1 })).enter({ client: 'key:bob', cost: 1 })
  await quotas.close()
  t.same(Object.fromEntries(await usageOfDay(dir, '2026-11-22')), { ann: 5, bob: 1 })
  await writeFile(usage, (await readFile(usage, 'utf8')).replace('ann":5', 'ann":4'))
  const said: string[] = []
  t.same([...(await usageOfDay(dir, '2026-11-22', (problem) => said.push(problem)))], [])
  t.match(said, [/usage\.json, is damaged/])
})

t.test('a link to a key that is missing opens no service, and revokes no key', async (t) => {
  const dir = path.join(t.testdir(), 'keys')
  const ann = await addKey(dir, { name: 'ann', role: 'user' })
  const file = path.join(dir, 'ann.key.json')
  const mounted = path.join(dir, 'mounted')
  await rename(file, mounted)
  await symlink(mounted, file)
  const keys = await openKeys({ dir, pollMs: 5 })
  t.teardown(() => keys.close())
  t.match(keys.find(ann), { name: 'ann' })
  await rename(mounted, `${mounted}-not`)
  await until(() => keys.unreadable > 0)
  t.match(keys.find(ann), { name: 'ann' })
  await t.rejects(openKeys({ dir }), { code: 'config_invalid', message: /ann\.key\.json is a link whose target is missing/ })
})

t.test('questions count by key and day, over restarts and for services that share a folder', async (t) => {
  const dir = path.join(t.testdir(), 'keys')
  await addKey(dir, { name: 'ann', role: 'user', questions_per_day: 5 })
  const keys = await openKeys({ dir })
  t.teardown(() => keys.close())
  let now = Date.parse('2026-11-22T23:59:00Z')
  const service = () => createQuotas({ dir, keys, now: () => now })
  const [one, two] = [await service(), await service()]
  const full = createAdmission({ maxWaiting: 0, concurrency: 100 })
  const ask = (quotas: typeof one, client = 'key:ann') => quotas.around(full).enter({ client, cost: 1 }).release(true)
  for (const quotas of [one, one, two]) ask(quotas)
  await Promise.all([one.save(), two.save()])
  t.same([...(await usageOfDay(dir, '2026-11-22'))], [['ann', 3]])
  t.equal((await stat(path.join(dir, 'usage.json'))).mode & 0o777, 0o600)
  const restarted = await service()
  for (const quotas of [restarted, restarted]) ask(quotas)
  t.throws(() => ask(restarted), { code: 'rate_limited', retryAfterS: 60, message: /ann has asked the 5 questions/ })
  ask(restarted, '127.0.0.1')
  ask(restarted, 'key:CEPE_ADMIN_KEY')
  now += 60_000
  ask(restarted)
  await Promise.all([one, two, restarted].map((quotas) => quotas.close()))
  t.same([...(await usageOfDay(dir, '2026-11-23'))], [['ann', 1]])
})

t.test('what another service counted holds for one that was not asked since, and a damaged count does not begin again', async (t) => {
  const dir = path.join(t.testdir(), 'keys')
  await addKey(dir, { name: 'ann', role: 'user', questions_per_day: 2 })
  const keys = await openKeys({ dir })
  t.teardown(() => keys.close())
  const now = () => Date.parse('2026-11-22T12:00:00Z')
  const said: string[] = []
  const service = async () => {
    const quotas = await createQuotas({ dir, keys, now, log: (_level, message) => said.push(message) })
    t.teardown(() => quotas.close())
    const door = quotas.around(createAdmission({ maxWaiting: 0, concurrency: 100 }))
    return { save: () => quotas.save(), ask: () => door.enter({ client: 'key:ann', cost: 1 }).release(true) }
  }
  const [one, idle] = [await service(), await service()]
  one.ask()
  await one.save()
  await writeFile(path.join(dir, 'usage.json'), 'no count')
  one.ask()
  await one.save()
  t.same([...(await usageOfDay(dir, '2026-11-22'))], [['ann', 2]])
  await idle.save()
  t.throws(() => idle.ask(), { code: 'rate_limited' })
  t.same(said, [])
  await writeFile(path.join(dir, 'usage.json'), 'no count')
  await service()
  t.match(said, [/usage\.json, is damaged: today's counts start at 0/], 'a start that has lost the counts is logged')
  await rm(path.join(dir, 'usage.json'))
  await mkdir(path.join(dir, 'usage.json'))
  await t.rejects(usageOfDay(dir), { code: 'config_invalid', message: /usage\.json/ })
})

t.test('a question that the service itself refuses does not count, and a folder that cannot be written stops nobody', async (t) => {
  const dir = path.join(t.testdir(), 'keys')
  await addKey(dir, { name: 'ann', role: 'user', questions_per_day: 2 })
  const keys = await openKeys({ dir })
  t.teardown(() => keys.close())
  const quotas = await createQuotas({ dir, keys })
  const door = quotas.around(createAdmission({ maxWaiting: 0, concurrency: 1 }))
  const first = door.enter({ client: 'key:ann', cost: 1 })
  t.throws(() => door.enter({ client: 'key:ann', cost: 1 }), { code: 'overloaded' })
  first.release(true)
  door.enter({ client: 'key:ann', cost: 1 }).release(true)
  t.throws(() => door.enter({ client: 'key:ann', cost: 1 }), { code: 'rate_limited' })
  await chmod(dir, 0o500)
  await quotas.close()
  await chmod(dir, 0o700)
})

t.test('a folder that cannot be one is named, and is no key of that name', async (t) => {
  const file = path.join(t.testdir({ taken: 'a file' }), 'taken')
  await t.rejects(recordsIn(file), { code: 'config_invalid', field: 'CEPE_KEYS_DIR', message: /taken cannot be read/ })
  await t.rejects(addKey(file, { name: 'ann', role: 'user' }), {
    code: 'config_invalid',
    field: 'CEPE_KEYS_DIR',
    message: /cannot be written/,
  })
})
