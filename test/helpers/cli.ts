import { readdir, readFile } from 'node:fs/promises'
import { CLI, finished, startNode, type Finished, type Settings } from './processes.ts'

export { startServer, type Finished, type RunningServer } from './processes.ts'

/** Runs the compiled command to its end, or until it is killed by the signal (its exit code is null then). */
export function runCli(args: readonly string[], env: Settings = {}, signal?: AbortSignal): Promise<Finished> {
  const child = startNode(CLI, args, { env })
  signal?.addEventListener('abort', () => child.kill('SIGKILL'), { once: true })
  return finished(child)
}

/** Ids of the processes that carry a text in their environment: those that a marked command started, and theirs. Linux alone tells. */
export async function processesWith(marker: string): Promise<number[]> {
  const ids = await readdir('/proc').catch(() => [])
  const found = await Promise.all(
    ids
      .filter((id) => /^\d+$/.test(id))
      .map(async (id) => ((await readFile(`/proc/${id}/environ`, 'utf8').catch(() => '')).includes(marker) ? [Number(id)] : [])),
  )
  return found.flat()
}
