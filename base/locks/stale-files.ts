import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ageOf } from './clock.ts'
import { onCode } from '../errors.ts'
import { orAbsent } from '../exists.ts'
import { stateOf } from './process.ts'

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
