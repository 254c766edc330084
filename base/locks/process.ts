import { createHash } from 'node:crypto'
import { readFile, readlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { osCode } from '../errors.ts'

/** True if a process with this id runs on this machine (in this process namespace), of any user. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return osCode(error) === 'EPERM'
  }
}

/** Start time of a process in clock ticks since boot, from /proc, else empty: process ids are reused. */
async function startOf(pid: number): Promise<string> {
  const fields = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // Field 22; the command name before it may contain spaces, but ends at the last parenthesis.
  return fields.slice(fields.lastIndexOf(')')).split(' ').at(20) ?? ''
}

/**
 * Scope in which process ids are unique: one boot of one machine and one process namespace. A host name is not sufficient: two containers
 * may share it, and process 7 of one is not process 7 of another.
 */
async function processScope(): Promise<string> {
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

/** Identifies this process among all that share a disk: scope, process id, start time. Valid in file names. */
export function processTag(): Promise<string> {
  own ??= Promise.all([processScope(), startOf(process.pid)]).then(([scope, started]) => `${scope}-${process.pid}-${started}`)
  return own
}

/** The process id of a tag from this machine and namespace; undefined for others. */
export async function pidOf(tag: string): Promise<number | undefined> {
  const [, scope, pid] = TAG.exec(tag) ?? []
  return scope !== undefined && (await processTag()).startsWith(`${scope}-`) ? Number(pid) : undefined
}

/** State of a tag's process; `elsewhere` if only a heartbeat can tell: it is of another machine or container, or the text is not a tag. */
export async function stateOf(tag: string): Promise<'alive' | 'dead' | 'elsewhere'> {
  const pid = await pidOf(tag)
  if (pid === undefined) return 'elsewhere'
  return isAlive(pid) && (await startOf(pid)) === TAG.exec(tag)?.[3] ? 'alive' : 'dead'
}
