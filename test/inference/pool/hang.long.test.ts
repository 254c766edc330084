import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createAdmission } from '../../../src/inference/pool/admission.ts'
import { startChild } from '../../../src/inference/pool/child-process.ts'
import { createReader } from '../../../src/inference/pool/models/create-reader.ts'
import { createPool } from '../../../src/inference/pool/pool.ts'
import { commonChildOptions } from '../../../src/inference/pool/models/process-options.ts'
import type { PoolOptions } from '../../../src/inference/pool/contract.ts'
import { builtFixture } from '../../fixtures/built-fixture.ts'
import { question } from './golden-requests.ts'
import { stubTask, stubOptions } from './stub.ts'
import { until } from '../../helpers/until.ts'

/** A pool of stubs that have the service's own thread for pings. */
async function open(t: Test, options: Partial<PoolOptions> = {}) {
  const folder = t.testdir({ log: '', pulse: '' })
  const pool = await createPool(stubOptions(folder, { heartbeatMs: 1500, ...options }))
  t.teardown(() => pool.close({ drainMs: 0 }))
  const log = async () => (await readFile(path.join(folder, 'log'), 'utf8')).split('\n').filter(Boolean)
  return { pool, log, begun: (command: string) => until(async () => (await log()).includes(command)), folder }
}

function pidOf(result: { output: unknown }): number {
  return (result.output as { pid: number }).pid
}

await t.test('a run that computes is no hang, however much longer than others it takes', async (t) => {
  const { pool } = await open(t)
  for (let i = 0; i < 3; i++) await pool.run(stubTask('echo'))
  const pid = pool.status().children[0]?.pid
  const long = pool.run(stubTask('compute 6000'))
  await delay(4000)
  t.match(pool.status(), { ready: 1, children: [{ pid, state: 'busy' }] })
  t.equal(pidOf(await long), pid)
  const left = t.rejects(pool.run(stubTask('compute 4000'), { deadlineMs: 500 }), { code: 'deadline_exceeded' })
  await left
  t.equal(pidOf(await pool.run(stubTask('echo'))), pid, 'nor where its caller has been told that it is late')
  t.equal(pool.status().restarts, 0)
})

await t.test('a process that stops in a long run is replaced after a heartbeat, and its run is repeated', async (t) => {
  const { pool, begun, folder, log } = await open(t)
  await pool.run(stubTask('compute 3000'))
  const { disruptions } = pool.status()
  const run = pool.run(stubTask('until go'))
  await begun('until go')
  const { pid } = pool.status().children[0] ?? {}
  process.kill(pid ?? 0, 'SIGSTOP')
  const waiting = pool.run(stubTask('echo'), { lane: 'long' })
  await until(() => pool.status().children[0]?.state === 'silent')
  t.equal(pool.status().ready, 0)
  await until(() => pool.status().restarts === 1)
  await writeFile(path.join(folder, 'go'), '')
  t.not(pidOf(await run), pid)
  await waiting
  t.equal((await log()).filter((line) => line === 'until go').length, 2)
  t.ok(pool.status().disruptions > disruptions)
})

await t.test('a process that stops is gone as soon as the deadline of its run has passed', async (t) => {
  const { pool, begun } = await open(t, { heartbeatMs: 20_000 })
  const { pid } = pool.status().children[0] ?? {}
  const late = t.rejects(pool.run(stubTask('until never'), { deadlineMs: 6000 }), { code: 'deadline_exceeded' })
  await begun('until never')
  process.kill(pid ?? 0, 'SIGSTOP')
  await late
  await until(() => pool.status().restarts === 1)
  t.not(pidOf(await pool.run(stubTask('echo'))), pid)
})

await t.test('one that goes on is neither killed nor measured', async (t) => {
  const { pool, begun, folder } = await open(t, { heartbeatMs: 30_000 })
  await pool.run(stubTask('sleep 100'))
  const { disruptions } = pool.status()
  const run = pool.run(stubTask('until go'))
  await begun('until go')
  const { pid } = pool.status().children[0] ?? {}
  process.kill(pid ?? 0, 'SIGSTOP')
  await until(() => pool.status().children[0]?.state === 'silent')
  process.kill(pid ?? 0, 'SIGCONT')
  await writeFile(path.join(folder, 'go'), '')
  t.equal(pidOf(await run), pid)
  t.equal(pool.status().disruptions, disruptions + 2)
  t.equal(pidOf(await pool.run(stubTask('echo'), { deadlineMs: 3000 })), pid, 'what comes next is not expected to take so long')
})

await t.test('a reader that is stopped while it answers: the next question is admitted by what was learned before', async (t) => {
  const reader = await createReader({ modelDir: await builtFixture(t, 'cepe-tiny-gqa'), heartbeatMs: 4000 })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const admission = createAdmission({ maxWaiting: 8, concurrency: 1, disruptions: () => reader.status().disruptions })
  const asked = question('w5 w9 w11', { maxNewTokens: 100 })
  const answer = async (read: Parameters<typeof reader.answer>[0]) => {
    const permit = admission.enter({ cost: 1 })
    const answered = await reader.answer(read)
    permit.release(true)
    return answered
  }
  const before = await answer(asked)
  for (let i = 0; i < 4; i++) await answer(asked)
  const { pid } = reader.status().children[0] ?? {}
  // Stopped before, it cannot have answered.
  process.kill(pid ?? 0, 'SIGSTOP')
  const stopped = performance.now()
  const sampled = answer({ ...asked, sampling: { temperature: 0.9, topP: 0.95, seed: 7 } })
  t.ok((await sampled).promptTokens > 0, 'its question is answered by the next process')
  const hungMs = performance.now() - stopped
  t.ok(hungMs > 4000)
  t.equal(reader.status().restarts, 1)

  const first = admission.enter({ cost: 1 })
  // Learned from the hang, two questions would take longer than a third of it.
  admission.enter({ cost: 1, deadlineMs: hungMs / 3 }).release(false)
  first.release(false)
  t.equal((await answer(asked)).text, before.text)
})

await t.test('a process ends by itself on a graceful shutdown, its thread for pings included', async (t) => {
  const modelDir = await builtFixture(t, 'contriever-tiny')
  const child = await startChild({
    childFile: new URL('../../../src/inference/worker/child.js', import.meta.url),
    options: { role: 'embedder', ...commonChildOptions({ modelDir }), batchTokens: 64 },
    startTimeoutMs: 100_000,
    signal: new AbortController().signal,
    log: () => undefined,
  })
  child.ping()
  await until(() => child.vitals.silentMs === 0)
  await child.stop()
  t.equal(await child.exited, 'exit code 0')
})
