import { createHash } from 'node:crypto'
import { readdir, readFile, readlink, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { ageOf } from './clock.ts'
import { onCode, osCode } from './errors.ts'
import { orAbsent } from './exists.ts'

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

/** Files of other machines or containers are considered abandoned after this time without a change. */
const SILENT_MS = 24 * 3_600_000

/** Time of the last change of a file, or within a folder. */
async function changedAt(path: string): Promise<number> {
  const { mtimeMs } = await stat(path)
  const inside = await readdir(path, { recursive: true }).catch(onCode(['ENOTDIR'], (): string[] => []))
  const times = await Promise.all(inside.map((name) => stat(join(path, name)).then((found) => found.mtimeMs)))
  return Math.max(mtimeMs, ...times)
}

/**
 * Finds files of killed processes: a name with a process tag (see `processTag`) is stale if that process is dead, or, if that is unknown,
 * after a day without a change.
 * @param tagOf returns the tag in a name; undefined for other names
 * @returns the stale names
 */
export async function staleFiles(folder: string, tagOf: (name: string) => string | undefined): Promise<string[]> {
  const found: string[] = []
  for (const name of await readdir(folder)) {
    const tag = tagOf(name)
    if (tag === undefined) continue
    const state = await stateOf(tag)
    if (state === 'alive') continue
    // A file that is gone is being moved or removed: another process is active.
    const changed = state === 'dead' ? -Infinity : await orAbsent(changedAt(join(folder, name)))
    if (changed !== undefined && ageOf(changed) > SILENT_MS) found.push(name)
  }
  return found
}

/** Removes the files of ended processes, as {@link staleFiles} finds them. */
export async function removeStaleFiles(folder: string, tagOf: (name: string) => string | undefined): Promise<void> {
  for (const name of await staleFiles(folder, tagOf)) await rm(join(folder, name), { recursive: true, force: true })
}
