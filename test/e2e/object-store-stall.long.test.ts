import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { runCli } from '../helpers/cli.ts'
import { somePassages } from '../index/helpers.ts'
import { folderOf, prepared, rowsAt, rowsOf, settingsOf, WITH_STORE } from '../helpers/object-store-process.ts'
import { startObjectStore } from '../helpers/object-store.ts'

interface Commit {
  readonly child: ChildProcess
  readonly ended: Promise<string>
}

function commit(place: string, env: Record<string, string>, ...options: string[]): Commit {
  const child = spawn(process.execPath, ['dist/src/cli.js', 'index', 'commit', place, ...options], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return { child, ended: once(child, 'close').then(() => output) }
}

await t.test('a writer that stalls past its lease writes nothing over who took over', WITH_STORE, async (t) => {
  const store = await startObjectStore(t)
  const dir = await folderOf(t)
  const address = store.address()
  const env = settingsOf(store, dir, address)
  /** Another machine: another folder of jobs. */
  const other = { ...env, CEPE_JOBS_DIR: path.join(dir, 'other-jobs') }
  const base = somePassages(60)
  const [stalls, takes] = [somePassages(60, 50), somePassages(60, 100)]
  const baseAt = await prepared(t, { dir, env, name: 'base', passages: base })
  const [stalledAt, takingAt] = [
    await prepared(t, { dir, env, name: 'stalled', passages: stalls }),
    await prepared(t, { dir, env: other, name: 'taking', passages: takes }),
  ]
  t.match(await runCli(['index', 'commit', baseAt, '--replace'], env), { code: 0 })

  let reached: () => void = () => undefined
  let passOn: () => void = () => undefined
  const [atCommit, released] = [new Promise<void>((resolve) => (reached = resolve)), new Promise<void>((resolve) => (passOn = resolve))]
  store.faults.push({
    when: (method, url) => method === 'PUT' && url.includes('.manifest'),
    times: 1,
    what: {
      after: () => {
        stalled.child.kill('SIGSTOP')
        reached()
        return released
      },
    },
  })
  const stalled: Commit = commit(stalledAt, env)
  t.teardown(() => stalled.child.kill('SIGKILL'))
  await atCommit
  const taking = commit(takingAt, other)
  t.teardown(() => taking.child.kill('SIGKILL'))
  t.match(await taking.ended, / done /, 'the other waits for the lease to expire, and takes over')
  const afterTaking = await rowsAt(address)
  passOn()
  await sleep(500)
  stalled.child.kill('SIGCONT')
  t.match(await stalled.ended, /writer lease was lost/)
  t.same(await rowsAt(address), afterTaking, 'what was on its way was not put on top')
  t.match(await commit(stalledAt, env).ended, / done /, 'run again it ends')
  const expected = new Map(rowsOf(base, 'base.tsv').map((row) => [row.split(' ')[0], row]))
  for (const row of [...rowsOf(stalls, 'stalled.tsv'), ...rowsOf(takes, 'taking.tsv')]) expected.set(row.split(' ')[0], row)
  t.same(await rowsAt(address), [...expected.values()].sort(), 'no row is lost, none is there twice')
})
