import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { osCode } from '../../base/errors.ts'
import { isAlive, startOf } from '../../base/process.ts'

/** Another machine's holder is taken for dead after so long without a sign of life. */
const SILENT_MS = 60_000
const HEARTBEAT_MS = 10_000
const SUFFIX = '.holder'

export interface WriterLock {
  release(): Promise<void>
}

/**
 * One bulk writer per index folder, over processes. Each applicant puts up a file of its own and then looks for others:
 * of two at once at least one sees the other, and whoever sees a live one withdraws. Files of dead processes are removed
 * by whoever comes next, so a killed service can go on at once.
 * @returns undefined if another live process holds the lock, or applied at the same moment: try again.
 */
export async function tryLock(folder: string): Promise<WriterLock | undefined> {
  await mkdir(folder, { recursive: true })
  const mine = `${randomUUID()}${SUFFIX}`
  const path = join(folder, mine)
  await writeFile(`${path}.tmp`, JSON.stringify({ host: hostname(), pid: process.pid, started: await startOf(process.pid) }))
  await rename(`${path}.tmp`, path)
  for (const name of await readdir(folder)) {
    if (name === mine || !name.endsWith(SUFFIX)) continue
    if (await alive(join(folder, name))) {
      await rm(path, { force: true })
      return undefined
    }
    await rm(join(folder, name), { force: true })
  }
  const beat = setInterval(() => {
    const now = new Date()
    utimes(path, now, now).catch(() => undefined)
  }, HEARTBEAT_MS).unref()
  return {
    release: async () => {
      clearInterval(beat)
      await rm(path, { force: true })
    },
  }
}

async function alive(path: string): Promise<boolean> {
  try {
    const holder: unknown = JSON.parse(await readFile(path, 'utf8'))
    if (typeof holder !== 'object' || holder === null || !('host' in holder) || !('pid' in holder) || !('started' in holder)) return false
    if (holder.host !== hostname()) return Date.now() - (await stat(path)).mtimeMs < SILENT_MS
    return typeof holder.pid === 'number' && isAlive(holder.pid) && (await startOf(holder.pid)) === holder.started
  } catch (error) {
    if (osCode(error) === 'ENOENT' || error instanceof SyntaxError) return false
    throw error
  }
}
