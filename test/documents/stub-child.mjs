// A reading process that a file has taken over: it never answers, takes processor time or memory, ends, or looks around.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

const answer = (value) => {
  const text = JSON.stringify(value)
  // Both results: a text, and passages.
  process.send({ type: 'html', warnings: [], text, title: '', pages: [], passages: [{ title: '', text, heading: '' }] })
}
const usedMs = () => (process.cpuUsage().user + process.cpuUsage().system) / 1000
const tried = (work) => {
  try {
    work()
    return 'done'
  } catch (error) {
    return error.code
  }
}
process.on('disconnect', () => process.exit(0))
process.on('message', ({ bytes }) => {
  const wish = Buffer.from(bytes).toString()
  if (wish.includes('loop')) for (;;);
  if (wish.includes('fill')) {
    const held = []
    for (;;) held.push(Buffer.alloc(64 * 2 ** 20, 1))
  }
  if (wish.includes('burn')) {
    const from = usedMs()
    while (usedMs() < from + 400);
    answer('burnt')
  }
  // More time for a page, again and again.
  const pages = /(\d+) pages/.exec(wish)
  if (pages !== null) {
    for (let i = 0; i < Number(pages[1]); i++) process.send('ocr starts')
    answer('done')
  }
  if (wish.includes('crash')) process.abort()
  if (wish.includes('environment')) answer(process.env)
  if (wish.includes('wait')) setTimeout(() => answer('waited'), 4000)
  if (wish.includes('escape')) {
    answer({
      read: tried(() => readFileSync('/etc/hostname')),
      write: tried(() => writeFileSync(new URL('./escaped', import.meta.url), '')),
      spawn: tried(() => spawnSync(process.execPath, ['--version'])),
      thread: tried(() => new Worker('0', { eval: true })),
    })
  }
})
