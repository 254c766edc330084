import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 10
const LIMIT_MS = 60_000

/** Waits for a condition. @throws if it is not met within a minute */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + LIMIT_MS; !(await condition()); await sleep(POLL_MS))
    if (Date.now() > end) throw new Error('The condition was not met within a minute.')
}
