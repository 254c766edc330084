import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { osCode } from '../errors.ts'
import { stateOf } from './process.ts'

/** What a process of another machine or container left is taken for abandoned after so long without a change. */
const SILENT_MS = 24 * 3_600_000

/** When a file, or the newest thing in a folder, was changed. */
async function changedAt(path: string): Promise<number> {
  const { mtimeMs } = await stat(path)
  const inside = await readdir(path, { recursive: true }).catch((error: unknown): string[] => {
    if (osCode(error) === 'ENOTDIR') return []
    throw error
  })
  const times = await Promise.all(inside.map((name) => stat(join(path, name)).then((found) => found.mtimeMs)))
  return Math.max(mtimeMs, ...times)
}

/**
 * The policy for files of killed processes: a name that carries the tag of a process (see `processTag`) is stale when that
 * process is known to be dead, or, if that cannot be known, after a day without a change.
 * @param tagOf the tag in a name; undefined for other names.
 * @returns the stale names.
 */
export async function staleFiles(folder: string, tagOf: (name: string) => string | undefined): Promise<string[]> {
  const found: string[] = []
  for (const name of await readdir(folder)) {
    const tag = tagOf(name)
    if (tag === undefined) continue
    const state = await stateOf(tag)
    if (state === 'alive') continue
    if (state === 'dead' || (await isSilent(join(folder, name)))) found.push(name)
  }
  return found
}

async function isSilent(path: string): Promise<boolean> {
  try {
    return Date.now() - (await changedAt(path)) > SILENT_MS
  } catch (error) {
    // It is being moved or removed: another process is active.
    if (osCode(error) === 'ENOENT') return false
    throw error
  }
}

/** Removes the files of killed processes. */
export async function removeStaleFiles(folder: string, tagOf: (name: string) => string | undefined): Promise<void> {
  for (const name of await staleFiles(folder, tagOf)) await rm(join(folder, name), { recursive: true, force: true })
}
