import t, { type Test } from 'tap'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CLI, finished, startNode } from '../helpers/processes.ts'
import type { Job } from '../../src/jobs/record/schema.ts'
import { runCli } from '../helpers/cli.ts'
import { tinyService, tinyShared } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

/** Two shards: the first is committed while the second is embedded. */
const PASSAGES = 5_000

/** `cepe index add` of a corpus that takes some seconds, and a way to see how far it is. */
async function indexing(t: Test) {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const [file, other] = [path.join(dir, 'towns.tsv'), path.join(dir, 'other.tsv')]
  const rows = Array.from({ length: PASSAGES }, (_, i) => `${i}\tPlace ${i}\tPlace ${i}`)
  await writeFile(file, ['id\ttext\ttitle', ...rows, ''].join('\n'))
  await writeFile(other, 'id\ttext\ttitle\n0\tThe Orinoco\tA river\n')
  const child = startNode(CLI, ['index', 'add', file, other, '--collection', 'towns'], { env })
  t.teardown(() => child.kill('SIGKILL'))
  const jobs = path.join(env.CEPE_INDEX_DIR, 'jobs')
  const reached = async (holds: (job: Job) => boolean): Promise<string> => {
    for (;;) {
      const [id] = await readdir(jobs).catch(() => [])
      const record = id === undefined ? '' : await readFile(path.join(jobs, id, 'job.json'), 'utf8').catch(() => '')
      if (id !== undefined && record !== '' && holds(JSON.parse(record) as Job)) return id
      await sleep(20)
    }
  }
  const atWork = () => reached(({ state }) => state === 'indexing')
  const committed = () => reached(({ counters }) => counters.committed > 0)
  return {
    child,
    ended: finished(child),
    atWork,
    committed,
    index: (...args: string[]) => runCli(['index', ...args, '--collection', 'towns'], env),
  }
}

await t.test('Ctrl-C in `index add` says what is kept, and the command that goes on', async (t) => {
  const { child, ended, committed, index } = await indexing(t)
  const id = await committed()
  child.kill('SIGINT')
  const { code, stderr } = await ended
  t.equal(code, 130)
  const [, command = ''] =
    /^cepe: Interrupted: [1-9]\d* of 5000 passages of towns\.tsv committed and kept\..* with: cepe (.*)$/m.exec(stderr) ?? []
  t.equal(command, `index resume ${id} --collection towns`, stderr)
  t.match(stderr, /Not started: .*other\.tsv\n/)
  t.notMatch(stderr, /abort|\n +at /, 'no word of how the program ends itself')

  const state = new RegExp(`^${id}  indexing .*: its process has ended.* cepe index resume ${id} or cepe index cancel ${id}$`, 'm')
  t.match((await index('status')).stdout, state)
  t.match(await index('resume', id), { code: 0, stdout: /done {2}towns\.tsv {2}5000\/5000 committed/ })
})

await t.test('a job whose process was killed: its state says so, and it can be cancelled', async (t) => {
  const { child, ended, atWork, index } = await indexing(t)
  const id = await atWork()
  t.notMatch((await index('status')).stdout, /process has ended/, 'it is at work')
  child.kill('SIGKILL')
  await ended
  const shown = await index('status', id)
  t.match(JSON.parse(shown.stdout), { id, state: 'indexing' })
  t.match(shown.stderr, new RegExp(`its process has ended.* cepe index resume ${id} or cepe index cancel ${id}\n$`))
  t.match(await index('cancel', id), { code: 0, stdout: /cancelled {2}towns\.tsv .*: its process had ended before\n/ })
  t.match(await index('status', id), { stdout: /"state": "cancelled"/, stderr: '' })
  t.match(await index('cancel', id), { code: 1, stderr: /is cancelled already/ })
})

await t.test('the job of a process that is at work is cancelled by that process', async (t) => {
  const { ended, atWork, index } = await indexing(t)
  const id = await atWork()
  t.match(await index('cancel', id), { code: 0, stdout: /: the process that runs it ends it at its next step\n/ })
  t.match(await ended, { code: 1, stderr: /The job .* was cancelled/ })
  t.match((await index('status')).stdout, new RegExp(`^${id}  cancelled `, 'm'))
})

await t.test('Ctrl-C before a job is there', async (t) => {
  const dir = await tempDir(t)
  const file = path.join(dir, 'a.tsv')
  await writeFile(file, 'id\ttext\ttitle\n0\tThe Orinoco\tA river\n')
  const child = startNode(CLI, ['index', 'add', file], { env: tinyService(dir) })
  t.teardown(() => child.kill('SIGKILL'))
  child.stderr?.once('data', () => child.kill('SIGINT'))
  t.match(await finished(child), { code: 130, stderr: /Building retriever[^]*\ncepe: Interrupted before anything was begun/ })
})
