import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { osCode } from '../errors.ts'

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
export const tryLock = async (folder: string): Promise<WriterLock | undefined> => {
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

const alive = async (path: string): Promise<boolean> => {
  try {
    const holder: unknown = JSON.parse(await readFile(path, 'utf8'))
    if (typeof holder !== 'object' || holder === null || !('host' in holder) || !('pid' in holder) || !('started' in holder)) return false
    if (holder.host !== hostname()) return Date.now() - (await stat(path)).mtimeMs < SILENT_MS
    return typeof holder.pid === 'number' && running(holder.pid) && (await startOf(holder.pid)) === holder.started
  } catch (error) {
    if (osCode(error) === 'ENOENT' || error instanceof SyntaxError) return false
    throw error
  }
}

const running = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return osCode(error) === 'EPERM'
  }
}

/** When a process was started, in clock ticks since boot, where /proc tells: process ids are given out again. */
const startOf = async (pid: number): Promise<string> => {
  try {
    const fields = await readFile(`/proc/${pid}/stat`, 'utf8')
    return fields.slice(fields.lastIndexOf(')')).split(' ')[20] ?? ''
  } catch {
    return ''
  }
}
