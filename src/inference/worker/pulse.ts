/**
 * A thread of an inference process that answers pings while a graph runs on the main thread. Pings come by a pipe of their
 * own, so that they pass no thread that computes. Each answer is the processor time that the process has used, in milliseconds.
 */
import { Socket } from 'node:net'
import { parentPort } from 'node:worker_threads'
import { PULSE_FD } from '../pulse-pipe.ts'

function answer(): void {
  const { user, system } = process.cpuUsage()
  pipe.write(`${Math.round((user + system) / 1000)}\n`)
}

const pipe = new Socket({ fd: PULSE_FD })
pipe.on('data', answer)
// The parent has gone: 'disconnect' ends the process.
pipe.on('error', () => pipe.destroy())
// The parent expects answers from the first one on, which has to lie in the pipe before the process takes a run.
answer()
parentPort?.postMessage('answers')
