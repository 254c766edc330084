/**
 * Main module of a forked inference process. It receives its role once, loads its model, and runs tasks, interleaved at yield points. `session.run`
 * blocks this process's thread, not the service's.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { clientClosed, messageOf } from '../../../base/errors.ts'
import { lowerPriority } from '../../../base/process.ts'
import { createEmbedderTasks, createRerankerTasks } from './tasks/encoder-tasks.ts'
import type { Log } from '../log.ts'
import {
  toWire,
  type ChildMessage,
  type ChildOptions,
  type TaskCall,
  type ParentMessage,
  type OnText,
  type YieldPoint,
  type TaskHandlers,
} from '../protocol.ts'
import { createReaderTasks } from './tasks/reader-tasks.ts'

function send(message: ChildMessage): void {
  // Without a parent there is no receiver; 'disconnect' ends the process.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}

const log: Log = (level, message) => send({ kind: 'log', level, message })

function load(options: ChildOptions): Promise<TaskHandlers> {
  if (options.role === 'reader') return createReaderTasks(options, log, (loading) => send({ kind: 'loading', loading }))
  return options.role === 'embedder' ? createEmbedderTasks(options, log) : createRerankerTasks(options, log)
}

/** Runs in progress; false once a run is cancelled. */
const wanted = new Map<number, boolean>()

async function yieldPoint(id: number): Promise<void> {
  // Two turns, since the first may resume right before messages are read.
  await turn()
  await turn()
  if (wanted.get(id) !== true) throw clientClosed()
}

/** Resolves when the pulse thread answers pings, or has failed: then only the main thread is supervised. */
function startPulse(): Promise<void> {
  const pulse = new Worker(new URL('./pulse.js', import.meta.url))
  pulse.unref()
  return new Promise((resolve) => {
    pulse.once('message', resolve)
    pulse.on('error', (error) => {
      log('warn', `The thread that answers pings has ended: ${messageOf(error)}`)
      resolve()
    })
  })
}

let handlers: TaskHandlers = {}

async function start(options: ChildOptions): Promise<void> {
  try {
    handlers = await load(options)
    await pulseStarted
    send({ kind: 'ready', rssBytes: process.memoryUsage.rss() })
  } catch (error) {
    send({ kind: 'refused', error: toWire(error) })
  }
}

async function run(id: number, call: TaskCall, streamed: boolean): Promise<void> {
  wanted.set(id, true)
  try {
    const handler = handlers[call.task] as ((input: unknown, yieldPoint: YieldPoint, onText?: OnText) => Promise<unknown>) | undefined
    if (!handler) throw new Error(`This is a bug: the process was asked for "${call.task}", which its role does not do.`)
    const output = await handler(call.input, () => yieldPoint(id), streamed ? (piece) => send({ kind: 'piece', id, piece }) : undefined)
    send({ kind: 'done', id, output, rssBytes: process.memoryUsage.rss(), cache: handlers.cacheCounts?.() })
  } catch (error) {
    send({ kind: 'failed', id, error: toWire(error), rssBytes: process.memoryUsage.rss() })
  } finally {
    wanted.delete(id)
  }
}

async function receive(message: ParentMessage): Promise<void> {
  switch (message.kind) {
    case 'start':
      return start(message.options)
    case 'run':
      return run(message.id, message.call, message.streamed)
    case 'cancel':
      if (wanted.has(message.id)) wanted.set(message.id, false)
      return
    case 'ping':
      return send({ kind: 'pong' })
  }
}

// Before lowering the priority, which compute threads inherit, so that pings are answered on a busy machine too.
const pulseStarted = startPulse()
// Before a model is loaded.
lowerPriority()
process.on('message', (message: ParentMessage) => {
  receive(message).catch((error: unknown) => log('error', `This is a bug: ${messageOf(error)}`))
})
process.on('disconnect', () => process.exit(0))
// A terminal sends these to the whole process group: the parent decides when its processes stop, so that running requests finish.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
