import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'

export interface IndexProcess {
  /** Ends its standard input, and waits for it. @returns all that it said */
  end(): Promise<string>
  kill(): Promise<void>
}

/** A process that works on an index until its standard input ends (`test/index/processes/<name>-process.ts`). It has begun when this returns. */
export async function indexProcess(t: Test, name: string, ...args: readonly string[]): Promise<IndexProcess> {
  const child = spawn(process.execPath, [`dist-test/test/index/processes/${name}-process.js`, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH },
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const closed = once(child, 'close')
  await once(child.stdout, 'data')
  return {
    end: async () => {
      child.stdin.end()
      await closed
      return output
    },
    kill: async () => {
      child.kill('SIGKILL')
      await closed
    },
  }
}
