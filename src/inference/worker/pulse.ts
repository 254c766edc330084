/**
 * A thread of an inference process that answers pings while a graph runs on the main thread. Pings use a pipe of their own, so that no
 * computing thread is involved. Each answer is the processor time used by the process, in milliseconds.
 */
import { Socket } from 'node:net'
import { parentPort } from 'node:worker_threads'
import { PULSE_FD } from '../protocol.ts'

function answer(): void {
  const { user, system } = process.cpuUsage()
  pipe.write(`${Math.round((user + system) / 1000)}\n`)
}

const pipe = new Socket({ fd: PULSE_FD })
pipe.on('data', answer)
// The parent has ended: 'disconnect' ends the process.
pipe.on('error', () => pipe.destroy())
// The parent expects answers from the first ping on, which must be in the pipe before the process accepts a run.
answer()
parentPort?.postMessage('answers')
