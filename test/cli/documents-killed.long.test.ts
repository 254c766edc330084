import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { CLI, finished, startNode } from '../helpers/processes.ts'
import { makeZip } from '../fixtures/zip.ts'
import { runCli } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

/** So many that the job is seen at work before it is done. */
const FILES = 10
const SENTENCES = 150

await t.test('a job of documents whose process is killed goes on, and an archive is one job', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const docs = path.join(dir, 'docs')
  await mkdir(docs)
  const sentence = (file: number, i: number) =>
    `The lamp number ${i} of pier ${file} burns from dusk until dawn and is looked after by the watch.`
  for (let file = 0; file < FILES; file++) {
    const text = Array.from({ length: SENTENCES }, (_, i) => sentence(file, i)).join(' ')
    await writeFile(path.join(docs, `pier-${file}.md`), `# Pier ${file}\n\n${text}\n`)
  }
  t.match(await runCli(['index', 'add', path.join(docs, 'pier-0.md')], env), { code: 0 })
  const jobs = path.join(env.CEPE_INDEX_DIR, 'jobs')
  const [first = ''] = await readdir(jobs)
  const child = startNode(CLI, ['index', 'add', docs], { env })
  const ended = finished(child)
  let state = ''
  let id = ''
  while (child.exitCode === null && !['indexing', 'verifying', 'done'].includes(state)) {
    await sleep(20)
    id = (await readdir(jobs)).find((name) => name !== first) ?? ''
    const record = await readFile(path.join(jobs, id, 'job.json'), 'utf8').catch(() => '{}')
    state = (JSON.parse(record) as { state?: string }).state ?? ''
  }
  child.kill('SIGKILL')
  await ended
  t.equal(state, 'indexing', 'it was at work when it was killed')
  const resumed = await runCli(['index', 'resume', id], env)
  t.match(resumed, { code: 0, stdout: new RegExp(`done {2}docs .*${FILES} files indexed`) })
  const sources = (await runCli(['index', 'sources'], env)).stdout.trim().split('\n')
  t.equal(sources.length, FILES)
  t.equal(new Set(sources.map((line) => line.split('\t')[0])).size, 1, 'each file has all of its passages, once')

  const zip = makeZip([
    { name: 'notes/a.md', content: 'The lamp burns.' },
    { name: 'notes/b.bin', content: 'PK' },
  ])
  await writeFile(path.join(dir, 'notes.zip'), zip)
  const checked = await runCli(['index', 'add', path.join(dir, 'notes.zip'), '--check'], env)
  t.match(checked, { code: 0, stdout: /notes\.zip: 1 file readable; 1 left out.*fit to index\n1 file fit to index; 1 left out: 1 \.bin/ })
  await writeFile(path.join(dir, 'escape.zip'), makeZip([{ name: '../a.md', content: 'The lamp.' }]))
  const escape = await runCli(['index', 'add', path.join(dir, 'escape.zip'), '--check'], env)
  t.match(escape, { code: 1, stdout: /escape\.zip: .*relative path.*a job would fail/ })
  const archive = await runCli(['index', 'add', path.join(dir, 'notes.zip')], env)
  t.match(archive, { code: 0, stdout: /done {2}notes\.zip .*\n1 file indexed; 1 left out: 1 \.bin \(not supported\)\n$/ })
})
