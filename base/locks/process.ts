import { createHash } from 'node:crypto'
import { readFile, readlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { osCode } from '../errors.ts'

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
async function startOf(pid: number): Promise<string> {
  try {
    const fields = await readFile(`/proc/${pid}/stat`, 'utf8')
    // Field 22; the command's name before it may hold spaces, but ends at the last parenthesis.
    return fields.slice(fields.lastIndexOf(')')).split(' ').at(20) ?? ''
  } catch {
    return ''
  }
}

/**
 * Where process ids mean the same: one boot of one machine and one process namespace. A host's name would not do: two
 * containers may share it, and each has a process 7 of its own.
 */
async function place(): Promise<string> {
  const [boot, namespace] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ])
  return createHash('sha256')
    .update(`${boot === '' ? hostname() : boot.trim()} ${namespace}`)
    .digest('hex')
    .slice(0, 16)
}

const TAG = /^([0-9a-f]{16})-(\d+)-(\d*)$/
let own: Promise<string> | undefined

/** Names this process among all that share a disk: place, process id, start time. Fits into a file's name. */
export function processTag(): Promise<string> {
  own ??= Promise.all([place(), startOf(process.pid)]).then(([where, started]) => `${where}-${process.pid}-${started}`)
  return own
}

/** The process id of a tag, where it means something to this process: on this machine, in this namespace. */
export async function pidOf(tag: string): Promise<number | undefined> {
  const [, where, pid] = TAG.exec(tag) ?? []
  return where !== undefined && (await processTag()).startsWith(`${where}-`) ? Number(pid) : undefined
}

/**
 * Whether the process of a tag still runs; `elsewhere` where only a sign of life can tell: it is of another machine or
 * container, or the text is no tag.
 */
export async function stateOf(tag: string): Promise<'alive' | 'dead' | 'elsewhere'> {
  const pid = await pidOf(tag)
  if (pid === undefined) return 'elsewhere'
  return isAlive(pid) && (await startOf(pid)) === TAG.exec(tag)?.[3] ? 'alive' : 'dead'
}
