import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { osCode } from './errors.ts'
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
 * The one policy for what killed processes left: whose name carries the tag of a process (see `processTag`) goes when that
 * process is known to be dead, or, where that cannot be known, after a day without a change.
 * @param tagOf the tag in a name; undefined for a name that is none of these.
 * @returns the names that nobody is at work on any more.
 */
export async function leftOvers(folder: string, tagOf: (name: string) => string | undefined): Promise<string[]> {
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
    // It is just being moved or removed: somebody is there.
    if (osCode(error) === 'ENOENT') return false
    throw error
  }
}

/** Removes what killed processes left. */
export async function sweep(folder: string, tagOf: (name: string) => string | undefined): Promise<void> {
  for (const name of await leftOvers(folder, tagOf)) await rm(join(folder, name), { recursive: true, force: true })
}
