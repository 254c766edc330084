import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** Linux counts the processor time of processes in hundredths of a second, whatever the machine. */
const TICK_MS = 10
/** How much more time may pass than processor time, for a process of low priority on a busy machine, or one that waits for nothing. */
const WALL_FACTOR = 10

/** Processor time that a process has used in all of its threads, in milliseconds; 0 where /proc does not tell. */
export async function processorMs(pid: number | undefined): Promise<number> {
  const text = await readFile(`/proc/${pid ?? 0}/stat`, 'utf8').catch(() => '')
  // The name, in parentheses, may hold anything; user and system time are the 14th and 15th field.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return TICK_MS * (Number(fields.at(11) ?? 0) + Number(fields.at(12) ?? 0))
}

/** Milliseconds that may pass for so much processor time. Where that cannot be measured, as many. */
export function wallMs(cpuMs: number): number {
  return existsSync('/proc/self/stat') ? WALL_FACTOR * cpuMs : cpuMs
}
