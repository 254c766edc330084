import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { bareEnvironment, CLI, serving } from '../helpers/processes.ts'
import { tinyShared } from '../helpers/service-settings.ts'

t.test('a process that is killed while it loads its model says that it is out of memory', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-killed-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const service = spawn(process.execPath, [CLI, 'serve', '--port', '0'], { env: { ...bareEnvironment(), ...tinyShared(dir) } })
  t.teardown(() => service.kill('SIGKILL'))
  const ended = serving(service).then(
    () => 'it serves',
    (error: unknown) => String(error),
  )
  const children = `/proc/${service.pid}/task/${service.pid}/children`
  for (let child = ''; child === ''; await sleep(1)) {
    child = (await readFile(children, 'utf8').catch(() => '')).trim().split(' ')[0] ?? ''
    if (child !== '') process.kill(Number(child), 'SIGKILL')
    else if (service.exitCode !== null) break
  }
  t.match(await ended, /The \w+ process \d+ ended \(SIGKILL, as when it is out of memory: add memory, .+\) while loading its model/)
})
