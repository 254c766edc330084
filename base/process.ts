import { readFile } from 'node:fs/promises'
import { osCode } from './errors.ts'

/** True if a process of this id runs on this machine (in this process namespace), whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return osCode(error) === 'EPERM'
  }
}

/** When a process was started, in clock ticks since boot, where /proc tells, else empty: process ids are given out again. */
export async function startOf(pid: number): Promise<string> {
  try {
    const fields = await readFile(`/proc/${pid}/stat`, 'utf8')
    // Field 22; the command's name before it may hold spaces, but ends at the last parenthesis.
    return fields.slice(fields.lastIndexOf(')')).split(' ').at(20) ?? ''
  } catch {
    return ''
  }
}
