import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { CodedError } from '../../../base/errors.ts'
import { createPool, type Pool } from '../../../src/inference/pool/pool.ts'
import type { PoolOptions } from '../../../src/inference/pool/contract.ts'
import { stubTask, stubOptions } from './stub.ts'
import { until } from '../../helpers/until.ts'

/** A bound of runs that a hanging one exceeds, and a short one does not while the machine is busy. */
const OVERLONG_MS = 1000
/** A run that begins so much later has not reached the bound as well when it is seen late that the first one has. */
const LATER_MS = OVERLONG_MS / 2

async function open(
  t: Test,
  options: Partial<PoolOptions> = {},
): Promise<{ pool: Pool; folder: string; touch: (name: string) => Promise<void>; log: () => Promise<string[]> }> {
  const folder = t.testdir({ log: '' })
  const pool = await createPool(stubOptions(folder, options))
  t.teardown(() => pool.close({ drainMs: 0 }))
  return {
    pool,
    folder,
    touch: (name) => writeFile(path.join(folder, name), ''),
    log: async () => (await readFile(path.join(folder, 'log'), 'utf8')).split('\n').filter(Boolean),
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function pidOf(result: { output: unknown }): number {
  return (result.output as { pid: number }).pid
}
function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no error',
    (error: unknown) => (error instanceof CodedError ? error.code : String(error)),
  )
}

await t.test('questions go ahead of bulk work, each kind in order', async (t) => {
  const { pool, touch, log } = await open(t)
  const runs = [
    pool.run(stubTask('until go')),
    pool.run(stubTask('echo bulk1'), { lane: 'bulk' }),
    pool.run(stubTask('echo bulk2'), { lane: 'bulk' }),
    pool.run(stubTask('echo q1')),
    pool.run(stubTask('echo q2')),
  ]
  t.match(pool.status(), { state: 'serving', ready: 1, busy: 1, queued: { question: 2, bulk: 2 }, restarts: 0 })
  await touch('go')
  const [first, ...others] = await Promise.all(runs)
  t.same(await log(), ['until go', 'echo q1', 'echo q2', 'echo bulk1', 'echo bulk2'])
  t.ok(others.every((result) => first && pidOf(result) === pidOf(first)))
  t.match(pool.status(), { busy: 0, queued: { question: 0, bulk: 0 } })
  t.ok((pool.status().children[0]?.rssBytes ?? 0) > 0)
})

await t.test('errors of a task keep code and field, and the process stays', async (t) => {
  const { pool } = await open(t)
  const before = pool.status().children[0]?.pid
  await t.rejects(pool.run(stubTask('fail no')), { code: 'invalid_request', message: 'no', field: 'input' })
  t.equal(pidOf(await pool.run(stubTask('echo'))), before)
})

await t.test('a full queue refuses at once, and says when to try again', async (t) => {
  const { pool, touch, log } = await open(t, { maxQueue: 1 })
  const accepted = [pool.run(stubTask('until go')), pool.run(stubTask('echo waits'))]
  await t.rejects(pool.run(stubTask('echo refused')), { code: 'overloaded', retryAfterS: Number })
  accepted.push(pool.run(stubTask('echo bulk'), { lane: 'bulk' }))
  accepted.push(pool.run(stubTask('echo admitted'), { admitted: true }))
  await touch('go')
  await Promise.all(accepted)
  t.notOk((await log()).includes('echo refused'))
})

await t.test('overload kills no process: past the deadline the caller is told so, and the run goes on to its end', async (t) => {
  const { pool, touch, log } = await open(t)
  const before = pool.status().children[0]?.pid
  const slow = pool.run(stubTask('until go'), { deadlineMs: 100 })
  const waiting = Array.from({ length: 20 }, () => pool.run(stubTask('echo late'), { deadlineMs: 100 }))
  const refusal = { code: 'deadline_exceeded', message: /100 ms/, retryAfterS: Number }
  await Promise.all([slow, ...waiting].map((late) => t.rejects(late, refusal)))
  t.match(pool.status(), { ready: 1, busy: 1, queued: { question: 0 }, restarts: 0 })
  await touch('go')
  t.equal(pidOf(await pool.run(stubTask('echo next'))), before)
  t.same(await log(), ['until go', 'echo next'])
  t.equal(pool.status().restarts, 0)
})

await t.test('what cannot finish in the time that waiting has left is not started', async (t) => {
  const { pool, touch, log } = await open(t)
  await pool.run(stubTask('sleep 1000'))
  const first = pool.run(stubTask('until go'))
  // It may be refused as soon as it is hopeless, before the first one has ended.
  const hopeless = t.rejects(pool.run(stubTask('echo hopeless'), { deadlineMs: 2000 }), { code: 'deadline_exceeded', retryAfterS: Number })
  const hopeful = pool.run(stubTask('echo hopeful'), { deadlineMs: 60_000 })
  const quick = pool.run(stubTask('echo quick'), { kind: 'quick', deadlineMs: 2000 })
  // Too late for a run of a second, and long before the deadline: what may begin has time on a busy machine, too.
  await delay(1150)
  await touch('go')
  await Promise.all([hopeless, first, hopeful, quick])
  t.notOk((await log()).includes('echo hopeless'))
})

await t.test('a run beyond its own bound is killed, and what shared its process is run again', async (t) => {
  const { pool } = await open(t, { maxRunMs: OVERLONG_MS })
  const before = pool.status().children[0]?.pid ?? 0
  const hung = t.rejects(pool.run(stubTask('hang'), { lane: 'long' }), { code: 'deadline_exceeded', message: /CEPE_MAX_RUN_MS/ })
  await delay(LATER_MS)
  const beside = pool.run(stubTask('echo beside'))
  await hung
  t.not(pidOf(await beside), before)
  t.notOk(isRunning(before))
  t.equal(pool.status().restarts, 1)
})

await t.test('a text is heard as it comes about, and once, also where its run is done anew', async (t) => {
  const { pool, touch } = await open(t, { maxRunMs: OVERLONG_MS })
  const overlong = t.rejects(pool.run(stubTask('steps never'), { lane: 'long' }), { code: 'deadline_exceeded' })
  await delay(LATER_MS)
  const pieces: string[] = []
  const before = pool.status().children[0]?.pid ?? 0
  const spoken = pool.run(stubTask('say go'), { onText: (piece) => pieces.push(piece) })
  await until(() => Promise.resolve(pieces.length === 2))
  await overlong
  await touch('go')
  t.not(pidOf(await spoken), before)
  t.same(pieces, ['one', ' two', ' three'])
})

await t.test('a question is answered between the steps of a long run', async (t) => {
  const { pool, touch, log } = await open(t)
  const long = pool.run(stubTask('steps go'), { lane: 'long' })
  await until(async () => (await log()).length === 1)
  await Promise.all([pool.run(stubTask('echo one')), pool.run(stubTask('echo two'))])
  t.match(pool.status(), { busy: 1 })
  const second = pool.run(stubTask('echo long2'), { lane: 'long' })
  await pool.run(stubTask('echo three'))
  t.notOk((await log()).includes('echo long2'), 'one long run at a time')
  await touch('go')
  await Promise.all([long, second])
})

await t.test('a caller that leaves, and a deadline, end a run between its steps', async (t) => {
  const { pool, log } = await open(t)
  const caller = new AbortController()
  const left = codeOf(pool.run(stubTask('steps never'), { lane: 'long', signal: caller.signal }))
  await until(async () => (await log()).length === 1)
  caller.abort()
  t.equal(await left, 'client_closed')
  await until(async () => (await log()).includes('ended steps never'))
  t.equal(await codeOf(pool.run(stubTask('steps nor'), { lane: 'long', deadlineMs: 50 })), 'deadline_exceeded')
  await until(async () => (await log()).includes('ended steps nor'))
  t.match(pool.status(), { restarts: 0 })
})

await t.test('a process is shared by client and cost', async (t) => {
  const { pool, touch, log } = await open(t)
  const runs = [pool.run(stubTask('until go'))]
  for (let i = 0; i < 4; i++) runs.push(pool.run(stubTask(`echo large${i}`), { client: 'a', cost: 10 }))
  for (let i = 0; i < 12; i++) runs.push(pool.run(stubTask(`echo small${i}`), { client: 'b', cost: 2 }))
  await touch('go')
  await Promise.all(runs)
  const order = (await log()).slice(1)
  t.ok(order.indexOf('echo small4') < order.indexOf('echo large2'), order.join())
  t.ok(order.indexOf('echo large1') < order.indexOf('echo small9'), order.join())
})

await t.test('a process that is stopped is seen, and replaced', async (t) => {
  const { pool } = await open(t, { heartbeatMs: 200 })
  const pid = pool.status().children[0]?.pid ?? 0
  process.kill(pid, 'SIGSTOP')
  await until(() => pool.status().ready === 0)
  await until(() => pool.status().ready === 1)
  t.not(pool.status().children[0]?.pid, pid)
  t.notOk(isRunning(pid))
  await pool.run(stubTask('echo'))

  t.equal(await codeOf(pool.run(stubTask('hang'))), 'not_ready', 'so is one that hangs in a run much longer than runs take')
  await pool.run(stubTask('echo'))
  t.equal(pool.status().restarts, 3, 'the run was repeated once')
})

await t.test('a process that loads a graph in the midst of a run is let be', async (t) => {
  const { pool } = await open(t, { heartbeatMs: 200 })
  // Run times are measured per kind: a long load does not raise the bound of other runs.
  for (const kind of ['', 'loading']) for (let i = 0; i < 3; i++) await pool.run(stubTask('echo'), { kind })
  const pid = pool.status().children[0]?.pid
  t.equal(pidOf(await pool.run(stubTask('load 1000'), { kind: 'loading' })), pid)
  t.equal(await codeOf(pool.run(stubTask('hang'))), 'not_ready', 'and killed as ever afterwards')
  t.equal(pool.status().restarts, 2)
})

await t.test('a process that is silent gets no further runs, and does not count as ready', async (t) => {
  const { pool, log } = await open(t, { heartbeatMs: 200, children: 2 })
  await until(() => pool.status().ready === 2)
  await pool.run(stubTask('sleep 400'))
  const hanging = codeOf(pool.run(stubTask('hang')))
  await until(async () => (await log()).includes('hang'))
  const pid = pool.status().children[0]?.pid
  await until(() => pool.status().children[0]?.state === 'silent')
  t.equal(pool.status().ready, 1)
  t.not(pidOf(await pool.run(stubTask('echo'), { lane: 'long' })), pid)
  t.match(pool.status(), { restarts: 0, children: [{ pid }] })
  await pool.close({ drainMs: 0 })
  t.equal(await hanging, 'not_ready')
})

await t.test('a process that hangs is replaced once the deadline of its run has passed', async (t) => {
  const { pool, log } = await open(t, { heartbeatMs: 200 })
  await pool.run(stubTask('sleep 500'))
  const hanging = codeOf(pool.run(stubTask('hang'), { deadlineMs: 2500 }))
  await until(async () => (await log()).includes('hang'))
  const pid = pool.status().children[0]?.pid
  t.equal(await hanging, 'deadline_exceeded')
  t.not(pidOf(await pool.run(stubTask('echo'), { deadlineMs: 30_000 })), pid)
  t.match(await log(), ['sleep 500', 'hang', 'echo'])
  t.equal(pool.status().restarts, 1)
})

await t.test('a deadline counts the time in the queue', async (t) => {
  const { pool, touch, log } = await open(t)
  const running = pool.run(stubTask('until go'))
  await t.rejects(pool.run(stubTask('echo late'), { deadlineMs: 50 }), { code: 'deadline_exceeded' })
  await t.rejects(pool.run(stubTask('echo never'), { deadlineMs: 0 }), { code: 'deadline_exceeded' })
  await touch('go')
  await running
  t.same(await log(), ['until go'])
  t.equal(pool.status().restarts, 0)
})

await t.test('an abandoned request leaves the queue at once; a running one is let finish', async (t) => {
  const { pool, touch, log } = await open(t)
  const before = pool.status().children[0]?.pid
  const running = new AbortController()
  const waiting = new AbortController()
  const runs = codeOf(pool.run(stubTask('until go'), { signal: running.signal }))
  const waits = codeOf(pool.run(stubTask('echo waits'), { signal: waiting.signal }))
  await until(async () => (await log()).length === 1)
  waiting.abort()
  running.abort()
  t.same(await Promise.all([runs, waits]), ['client_closed', 'client_closed'])
  t.match(pool.status(), { busy: 1, queued: { question: 0 } })
  t.equal(await codeOf(pool.run(stubTask('echo'), { signal: AbortSignal.abort() })), 'client_closed')
  await touch('go')
  t.equal(pidOf(await pool.run(stubTask('echo after'))), before)
  t.same(await log(), ['until go', 'echo after'])
})

await t.test('an abandoned run that hangs is still killed at its bound', async (t) => {
  const { pool } = await open(t, { maxRunMs: OVERLONG_MS })
  const caller = new AbortController()
  const run = codeOf(pool.run(stubTask('hang'), { signal: caller.signal }))
  caller.abort()
  t.equal(await run, 'client_closed')
  await pool.run(stubTask('echo'))
  t.equal(pool.status().restarts, 1)
})

await t.test('a process that dies fails its own request only', async (t) => {
  const { pool, log } = await open(t)
  const crashed = codeOf(pool.run(stubTask('exit 7')))
  const next = pool.run(stubTask('echo next'))
  t.equal(await crashed, 'not_ready')
  t.ok(pidOf(await next))
  t.equal((await log()).filter((line) => line === 'exit 7').length, 2)
  t.equal(pool.status().restarts, 2)
})

await t.test('a run whose process is killed is repeated once, and where that is killed too it is to be sent again', async (t) => {
  const { pool, log, touch } = await open(t)
  const kill = () => process.kill(pool.status().children[0]?.pid ?? 0, 'SIGKILL')
  const begun = (command: string, times: number) => until(async () => (await log()).filter((line) => line === command).length === times)
  const saved = pool.run(stubTask('until go'))
  await begun('until go', 1)
  const before = pool.status().children[0]?.pid
  kill()
  await begun('until go', 2)
  await touch('go')
  t.not(pidOf(await saved), before)

  const lost = t.rejects(pool.run(stubTask('hang')), { code: 'not_ready', retryAfterS: 1, message: /Send the request again/ })
  await begun('hang', 1)
  kill()
  await begun('hang', 2)
  const waiting = pool.run(stubTask('echo waits'))
  kill()
  await lost
  await waiting
  t.equal(pool.status().restarts, 3)
})

await t.test('a run is not repeated where its text was heard, or where no time is left', async (t) => {
  const { pool, log } = await open(t, { backoffMs: { first: 3_600_000, longest: 3_600_000 }, children: 2 })
  await until(() => pool.status().ready === 2)
  const pieces: string[] = []
  const spoken = codeOf(pool.run(stubTask('say never'), { onText: (piece) => pieces.push(piece) }))
  await until(() => pieces.length === 2)
  process.kill(pool.status().children.find(({ state }) => state === 'busy')?.pid ?? 0, 'SIGKILL')
  t.equal(await spoken, 'not_ready')
  const late = codeOf(pool.run(stubTask('hang'), { deadlineMs: 600_000 }))
  await until(async () => (await log()).at(-1) === 'hang')
  process.kill(pool.status().children.find(({ state }) => state === 'busy')?.pid ?? 0, 'SIGKILL')
  t.equal(await late, 'not_ready')
  t.same(await log(), ['say never', 'hang'])
})

await t.test('several processes run at the same time, and the service goes on', async (t) => {
  const { pool, touch, log } = await open(t, { children: 2 })
  const runs = [pool.run(stubTask('until go')), pool.run(stubTask('until go'))]
  await until(async () => (await log()).length === 2)
  t.match(pool.status(), { ready: 2, busy: 2 })
  await touch('go')
  const [a, b] = await Promise.all(runs)
  t.ok(a && b && pidOf(a) !== pidOf(b))
})

await t.test('a model that cannot be loaded is reported with its own code', async (t) => {
  const refusing = t.testdir({ refuse: '' })
  await t.rejects(createPool(stubOptions(refusing)), { code: 'model_invalid', message: /graph\.onnx/, field: 'graph.onnx' })
})

await t.test('a process that dies or dawdles while loading is reported', async (t) => {
  const dying = t.testdir({ die: '' })
  await t.rejects(createPool(stubOptions(dying)), { code: 'not_ready', message: /exit code 3/ })
  await t.rejects(createPool(stubOptions(dying, { startTimeoutMs: 1 })), { code: 'not_ready', message: /within 1 ms/ })
})

await t.test('where no process can be kept running nobody waits in vain, and it recovers', async (t) => {
  const { pool, folder, touch } = await open(t)
  await touch('die')
  const crashed = codeOf(pool.run(stubTask('exit 1')))
  const waiting = codeOf(pool.run(stubTask('echo waits')))
  t.equal(await crashed, 'not_ready')
  t.equal(await waiting, 'not_ready')
  await t.rejects(pool.run(stubTask('echo')), { code: 'not_ready', retryAfterS: Number })
  t.match(pool.status(), { state: 'recovering', ready: 0, lastError: /exit code 3/ })
  await rm(path.join(folder, 'die'))
  await until(() => pool.status().ready === 1)
  await pool.run(stubTask('echo'))
  t.equal(pool.status().lastError, undefined)
})

await t.test('closing finishes what was accepted, refuses the rest and leaves no process', async (t) => {
  const { pool, touch } = await open(t)
  const pid = pool.status().children[0]?.pid ?? 0
  const accepted = [pool.run(stubTask('until go')), pool.run(stubTask('echo'))]
  const closed = pool.close()
  t.equal(pool.status().state, 'closing')
  t.equal(await codeOf(pool.run(stubTask('echo late'))), 'not_ready')
  await touch('go')
  t.equal((await Promise.all(accepted)).length, 2)
  await closed
  t.notOk(isRunning(pid))
})

await t.test('closing cuts off what does not finish in time', async (t) => {
  const { pool } = await open(t)
  const pid = pool.status().children[0]?.pid ?? 0
  const codes = [codeOf(pool.run(stubTask('hang'))), codeOf(pool.run(stubTask('echo')))]
  await pool.close({ drainMs: 20 })
  t.same(await Promise.all(codes), ['not_ready', 'not_ready'])
  t.notOk(isRunning(pid))
})

await t.test('processes end when the service is killed', async (t) => {
  const folder = t.testdir({ log: '' })
  const parent = spawn(process.execPath, [fileURLToPath(new URL('./stub-parent.js', import.meta.url)), folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(parent.stdout, 'data')) as [Buffer]
  const pid = Number(line.toString())
  t.ok(isRunning(pid))
  parent.kill('SIGKILL')
  await until(() => !isRunning(pid))
})
