/**
 * Entry of a forked inference process. It is told its role once, loads its model, and runs tasks, in turns of a step
 * where it has several. `session.run` blocks this process's thread, which is why it is not the service's.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { giveWay } from '../../../base/priority.ts'
import { cacheCounts } from './cache-counts.ts'
import { createEmbedderTasks } from './embedder-tasks.ts'
import {
  toWire,
  type ChildMessage,
  type ChildOptions,
  type Job,
  type Output,
  type ParentMessage,
  type Say,
  type Step,
  type TaskHandlers,
} from '../protocol.ts'
import { createReaderTasks } from './reader-tasks.ts'

function send(message: ChildMessage): void {
  // Without a parent there is nobody to tell; 'disconnect' ends the process.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}

function log(level: 'info' | 'warn' | 'error', message: string): void {
  return send({ kind: 'log', level, message })
}

function onLoading(loading: boolean): void {
  send({ kind: 'loading', loading })
}

function load(options: ChildOptions): Promise<TaskHandlers> {
  return options.role === 'reader' ? createReaderTasks(options, log, onLoading) : createEmbedderTasks(options, log)
}

async function runJob(handlers: TaskHandlers, job: Job, step: Step, say?: Say): Promise<Output<Job['task']>> {
  const handler = handlers[job.task] as ((input: Job['input'], step: Step, say?: Say) => Promise<Output<Job['task']>>) | undefined
  if (!handler) throw new Error(`This is a bug: the process was asked for "${job.task}", which its role does not do.`)
  return handler(job.input, step, say)
}

/** Runs in progress; false from the moment that one is no longer wanted. */
const wanted = new Map<number, boolean>()

async function step(id: number): Promise<void> {
  // Messages come in between the first and the second: the first may continue in the phase right before they are read.
  await turn()
  await turn()
  if (wanted.get(id) !== true) throw new CodedError('client_closed', 'The caller has left.')
}

let handlers: TaskHandlers = {}

async function start(options: ChildOptions): Promise<void> {
  try {
    handlers = await load(options)
    send({ kind: 'ready', rssBytes: process.memoryUsage.rss() })
  } catch (error) {
    send({ kind: 'refused', error: toWire(error) })
  }
}

async function run(id: number, job: Job, spoken: boolean): Promise<void> {
  wanted.set(id, true)
  try {
    const output = await runJob(handlers, job, () => step(id), spoken ? (piece) => send({ kind: 'piece', id, piece }) : undefined)
    send({ kind: 'done', id, output, rssBytes: process.memoryUsage.rss(), cache: cacheCounts() })
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
      return run(message.id, message.job, message.spoken)
    case 'cancel':
      if (wanted.has(message.id)) wanted.set(message.id, false)
      return
    case 'ping':
      return send({ kind: 'pong' })
  }
}

// Before a model is loaded: the threads that compute inherit it.
giveWay()
process.on('message', (message: ParentMessage) => {
  receive(message).catch((error: unknown) => log('error', `This is a bug: ${messageOf(error)}`))
})
process.on('disconnect', () => process.exit(0))
// A terminal sends these to the whole process group: the parent decides when its processes stop, so that running requests finish.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
