/**
 * A process for the pool's tests that does as each task says, so that hangs and crashes happen when a test wants them.
 * It speaks the real protocol. `modelDir` is a folder through which tests steer it:
 * a file `refuse` or `die` there makes it fail to load, `pulse` gives it the service's own thread that answers pings; tasks append
 * themselves to `log`.
 * Plain JavaScript that imports nothing of the service: it starts in no time, and tests start it often.
 */
import { once } from 'node:events'
import { appendFileSync, existsSync } from 'node:fs'
import path from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

let folder = ''
const send = (message) => process.send?.(message)
/** Blocks the thread, as session.run does. */
const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

const wanted = new Set()
/** Lets messages in, as a task does between its steps. */
const step = async (id) => {
  await turn()
  await turn()
  if (!wanted.has(id)) throw { code: 'client_closed', message: 'left' }
}

const actions = {
  steps: async (file, id) => {
    while (!existsSync(path.join(folder, file))) {
      block(5)
      await step(id)
    }
  },
  say: async (file, id) => {
    for (const [from, text] of ['one', ' two'].entries()) send({ kind: 'piece', id, piece: { from: 3 * from, text } })
    await actions.steps(file, id)
    send({ kind: 'piece', id, piece: { from: 7, text: ' three' } })
  },
  load: async (ms) => {
    send({ kind: 'loading', loading: true })
    await turn()
    block(Number(ms))
    send({ kind: 'loading', loading: false })
  },
  sleep: (ms) => block(Number(ms)),
  compute: (ms) => {
    for (const end = Date.now() + Number(ms); Date.now() < end;) Math.random()
  },
  echo: () => undefined,
  hang: () => block(Infinity),
  until: (file) => {
    while (!existsSync(path.join(folder, file))) block(5)
  },
  exit: (code) => process.exit(Number(code)),
  fail: (message) => {
    throw { code: 'invalid_request', message, field: 'input' }
  },
}

const load = async (options) => {
  folder = options.modelDir
  if (existsSync(path.join(folder, 'die'))) process.exit(3)
  if (existsSync(path.join(folder, 'refuse'))) {
    send({ kind: 'refused', error: { code: 'model_invalid', message: 'graph.onnx is damaged.', field: 'graph.onnx' } })
    return
  }
  if (existsSync(path.join(folder, 'pulse'))) {
    const pulse = new Worker(new URL('../../../dist-test/src/inference/worker/pulse.js', import.meta.url))
    await once(pulse, 'message')
    pulse.unref()
  }
  send({ kind: 'log', level: 'info', message: 'loaded' })
  send({ kind: 'ready', rssBytes: process.memoryUsage.rss() })
}

const run = async (message) => {
  const [command] = message.call.input
  const [action, argument] = command.split(' ')
  appendFileSync(path.join(folder, 'log'), `${command}\n`)
  wanted.add(message.id)
  try {
    await actions[action](argument, message.id)
    send({ kind: 'done', id: message.id, output: { command, pid: process.pid }, rssBytes: process.memoryUsage.rss() })
  } catch (error) {
    appendFileSync(path.join(folder, 'log'), `ended ${command}\n`)
    send({ kind: 'failed', id: message.id, error, rssBytes: process.memoryUsage.rss() })
  }
}

process.on('message', (message) => {
  switch (message.kind) {
    case 'start':
      return load(message.options)
    case 'run':
      return run(message)
    case 'cancel':
      return wanted.delete(message.id)
    case 'ping':
      return send({ kind: 'pong' })
  }
})
process.on('disconnect', () => process.exit(0))
