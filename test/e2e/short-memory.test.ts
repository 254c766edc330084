import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { attempt } from '../../base/errors.ts'
import { startServer } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

/** How early Linux ends a process where memory is short. */
function score(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8'))
}

/** The child processes of a process, with their scores. */
function children(pid: number): Map<number, number> {
  const all = readdirSync('/proc').map(Number).filter(Number.isInteger)
  const own = all.filter(
    (one) =>
      attempt(() => readFileSync(`/proc/${one}/stat`, 'utf8'), '')
        .split(') ')[1]
        ?.split(' ')[1] === String(pid),
  )
  return new Map(own.flatMap((one) => attempt(() => [[one, score(one)] as const], [])))
}

const skip = process.platform !== 'linux' && 'needs /proc'

t.test('where memory is short, the processes that are replaced end before the service', { skip }, async (t) => {
  const server = await startServer(tinyShared(await tempDir(t)))
  t.teardown(() => server.stop('SIGKILL'))
  const inference = children(server.pid)
  t.equal(inference.size, 2, 'a reader and an embedder')
  const form = new FormData()
  form.append('question', 'who is the mayor')
  form.append('file', new Blob(['<p>The <b>mayor</b> is Ann.</p>'.repeat(20_000)]), 'a.html')
  let answered = false
  const answer = fetch(`${server.url}/v1/documents/answer`, { method: 'POST', body: form }).finally(() => (answered = true))
  const seen = new Map(inference)
  while (!answered) {
    for (const [pid, own] of children(server.pid)) seen.set(pid, own)
    await sleep(5)
  }
  t.equal((await answer).status, 413, 'the document has too many tokens')
  t.ok(seen.size > inference.size, 'a process read it')
  for (const own of seen.values()) t.ok(own > score(server.pid), `${own}`)
})
