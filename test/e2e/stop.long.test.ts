import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { addressOf, bareEnvironment } from '../helpers/processes.ts'
import { processesWith } from '../helpers/cli.ts'
import { tinyService } from '../helpers/service-settings.ts'

const CLI = ['dist/src/cli.js', 'serve', '--port', '0']

interface Start {
  readonly command?: string
  readonly args?: string[]
  /** Where the log goes; a pipe by default. */
  readonly stdout?: number
}

/** The service with tiny models of its own, built at its first start. */
async function prepare(t: Test) {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-stop-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  await writeFile(path.join(dir, 'corpus.tsv'), 'id\ttext\ttitle\n1\tCanberra is the capital of Australia.\tCanberra\n')
  const env = tinyService(dir, { CEPE_CORPUS: path.join(dir, 'corpus.tsv'), CEPE_LOG_LEVEL: 'trace' })
  return async (t: Test, { command = process.execPath, args = CLI, stdout }: Start = {}) => {
    const marker = `CEPE-STOP-${process.pid}-${Math.random()}`
    const child = spawn(command, args, {
      env: { ...bareEnvironment(), ...env, MARKER: marker },
      stdio: ['ignore', stdout ?? 'pipe', 'pipe'],
    })
    t.teardown(async () => {
      for (const pid of await processesWith(marker)) process.kill(pid, 'SIGKILL')
    })
    return { child, marker, closed: once(child, 'exit') as Promise<[number | null]>, url: await addressOf(child) }
  }
}

/** Asks until far more has been logged than a pipe and the log's own memory hold. */
async function logMuch(url: string): Promise<number[]> {
  const statuses = new Set<number>()
  const long = 'x'.repeat(8_000)
  for (let round = 0; round < 10; round++) {
    const asked = Array.from({ length: 20 }, () => fetch(`${url}/v1/none?${long}`))
    for (const { status } of await Promise.all(asked)) statuses.add(status)
  }
  return [...statuses]
}

async function noneLeft(t: Test, marker: string): Promise<void> {
  for (let i = 0; i < 600 && (await processesWith(marker)).length > 0; i++) await setTimeout(50)
  t.same(await processesWith(marker), [], 'no process is left')
}

t.test('the service ends in order, whatever becomes of its log', { timeout: 600_000 }, async (t) => {
  const start = await prepare(t)

  await t.test('a log that nobody reads', async (t) => {
    const { child, marker, closed, url } = await start(t)
    t.same(await logMuch(url), [404])
    child.kill('SIGTERM')
    t.equal((await closed)[0], 0)
    await noneLeft(t, marker)
  })

  await t.test('a log whose reader has left', async (t) => {
    const { child, closed, url } = await start(t)
    child.stdout?.destroy()
    t.same(await logMuch(url), [404])
    child.kill('SIGTERM')
    t.equal((await closed)[0], 0)
  })

  await t.test('a log on a full disk', { skip: process.platform !== 'linux' && 'needs /dev/full' }, async (t) => {
    const full = await open('/dev/full', 'w')
    const { child, closed, url } = await start(t, { stdout: full.fd })
    await full.close()
    t.same(await logMuch(url), [404])
    child.kill('SIGTERM')
    t.equal((await closed)[0], 0)
  })

  await t.test('npm passes its SIGTERM on', { skip: process.platform === 'win32' && 'needs exec' }, async (t) => {
    const { child, marker } = await start(t, { command: 'npm', args: ['start', '--', '--port', '0'] })
    child.stdout?.resume()
    child.kill('SIGTERM')
    await noneLeft(t, marker)
  })

  await t.test('a second SIGTERM ends it at once, whatever still runs', async (t) => {
    const { child, marker, closed, url } = await start(t)
    child.stdout?.resume()
    const inference = (await processesWith(marker)).filter((pid) => pid !== child.pid)
    for (const pid of inference) process.kill(pid, 'SIGSTOP')
    const ask = (): Promise<number> =>
      fetch(`${url}/v1/answer`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"question": "q"}' }).then(
        ({ status }) => status,
        () => 0,
      )
    const running = ask()
    for (let i = 0; i < 600 && !/busy\{role="embedder"\} 1/.test(await (await fetch(`${url}/metrics`)).text()); i++) await setTimeout(20)
    child.kill('SIGTERM')
    // Time for the first to be taken in; long before stopped processes are found hung.
    await setTimeout(1000)
    t.equal(child.exitCode, null, 'it waits for the answer that is under way')
    child.kill('SIGTERM')
    t.equal((await closed)[0], 1)
    t.not(await running, 200)
    for (const pid of inference)
      try {
        process.kill(pid, 'SIGCONT')
      } catch {
        // It has ended.
      }
    await noneLeft(t, marker)
  })

  await t.test('a service that is killed leaves no process behind', async (t) => {
    const { child, marker, closed } = await start(t)
    child.stdout?.resume()
    t.ok((await processesWith(marker)).length > 1, 'it has processes of its own')
    child.kill('SIGKILL')
    await closed
    await noneLeft(t, marker)
  })
})
