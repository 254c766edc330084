/**
 * Entry of a forked inference process. It is told its role once, loads its model, and runs one task at a time.
 * `session.run` blocks this process's thread, which is why it is not the service's.
 */
import { messageOf } from '../../../base/errors.ts'
import { createEmbedderTasks } from './embedder-tasks.ts'
import { toWire, type ChildMessage, type ChildOptions, type Job, type Output, type ParentMessage, type TaskHandlers } from '../protocol.ts'
import { createReaderTasks } from './reader-tasks.ts'

function send(message: ChildMessage): void {
  // Without a parent there is nobody to tell; 'disconnect' ends the process.
  if (process.connected) process.send?.(message)
}

function log(level: 'info' | 'warn' | 'error', message: string): void {
  return send({ kind: 'log', level, message })
}

function load(options: ChildOptions): Promise<TaskHandlers> {
  return options.role === 'reader' ? createReaderTasks(options, log) : createEmbedderTasks(options, log)
}

async function runJob(handlers: TaskHandlers, job: Job): Promise<Output<Job['task']>> {
  const handler = handlers[job.task] as ((input: Job['input']) => Promise<Output<Job['task']>>) | undefined
  if (!handler) throw new Error(`This is a bug: the process was asked for "${job.task}", which its role does not do.`)
  return handler(job.input)
}

let handlers: TaskHandlers = {}

async function receive(message: ParentMessage): Promise<void> {
  if (message.kind === 'start') {
    try {
      handlers = await load(message.options)
      send({ kind: 'ready', rssBytes: process.memoryUsage.rss() })
    } catch (error) {
      send({ kind: 'refused', error: toWire(error) })
    }
    return
  }
  try {
    const output = await runJob(handlers, message.job)
    send({ kind: 'done', id: message.id, output, rssBytes: process.memoryUsage.rss() })
  } catch (error) {
    send({ kind: 'failed', id: message.id, error: toWire(error), rssBytes: process.memoryUsage.rss() })
  }
}

process.on('message', (message: ParentMessage) => {
  receive(message).catch((error: unknown) => log('error', `This is a bug: ${messageOf(error)}`))
})
process.on('disconnect', () => process.exit(0))
// A terminal sends these to the whole process group: the parent decides when its processes stop, so that running requests finish.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
