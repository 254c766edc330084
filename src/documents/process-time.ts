import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** Linux reports CPU time in hundredths of a second on every machine. */
const TICK_MS = 10
/** Ratio of wall-clock to CPU time limits: allows for a low-priority process on a busy machine, stops one that hangs idle. */
const WALL_FACTOR = 10

/** CPU time of all threads of a process in milliseconds; 0 without /proc. */
export async function processorMs(pid: number | undefined): Promise<number> {
  const text = await readFile(`/proc/${pid ?? 0}/stat`, 'utf8').catch(() => '')
  // The name, in parentheses, may contain any character; user and system time are the 14th and 15th field.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return TICK_MS * (Number(fields.at(11) ?? 0) + Number(fields.at(12) ?? 0))
}

/** Wall-clock limit in milliseconds for a CPU time limit; the same number if CPU time cannot be measured. */
export function wallMs(cpuMs: number): number {
  return existsSync('/proc/self/stat') ? WALL_FACTOR * cpuMs : cpuMs
}
