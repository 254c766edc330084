import { lstat, readdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Files still being written are waited for, up to this number of polls without a stable state. */
const MOST_UNSTEADY = 30

export interface ChangeOptions {
  /** Polling interval in milliseconds. */
  readonly everyMs: number
  /** Ends the iteration. */
  readonly signal: AbortSignal
}

type State = ReadonlyMap<string, string>

/**
 * Follows files and folders recursively: yields the paths that changed, appeared or disappeared, once they are stable. The first time: all.
 * Polls, since not every file system reports changes (network file systems, bind mounts of containers). Ends with its signal.
 */
export async function* folderChanges(paths: readonly string[], { everyMs, signal }: ChangeOptions): AsyncGenerator<ReadonlySet<string>> {
  let known: State = new Map()
  while (!signal.aborted) {
    const now = await steadyState(paths, known, { everyMs, signal })
    const changed = changedPaths(known, now)
    known = now
    if (changed.size > 0 && !signal.aborted) yield changed
    // Also woken by the end.
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
}

/** The state once two polls agree, or the previous one if nothing can be read. */
async function steadyState(paths: readonly string[], known: State, { everyMs, signal }: ChangeOptions): Promise<State> {
  let before = await stateOf(paths, known)
  if (changedPaths(known, before).size === 0 || known.size === 0) return before
  for (let look = 0; look < MOST_UNSTEADY && !signal.aborted; look++) {
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
    const now = await stateOf(paths, known)
    if (changedPaths(before, now).size === 0) break
    before = now
  }
  return before
}

function changedPaths(before: State, now: State): ReadonlySet<string> {
  const changed = new Set<string>()
  for (const [file, state] of now) if (before.get(file) !== state) changed.add(file)
  for (const file of before.keys()) if (!now.has(file)) changed.add(file)
  return changed
}

/** A version mark for each visible file. An unreadable folder keeps its previous state. */
async function stateOf(paths: readonly string[], known: State): Promise<State> {
  const state = new Map<string, string>()
  for (const root of paths) {
    const names = await readdir(root, { recursive: true }).catch(() => undefined)
    const isFile = names === undefined && (await lstat(root).catch(() => undefined))?.isFile() === true
    if (names === undefined && !isFile) {
      for (const [file, one] of known) if (file === root || file.startsWith(root + path.sep)) state.set(file, one)
      continue
    }
    for (const name of names ?? ['']) {
      if (name.split(path.sep).some((part) => part.startsWith('.'))) continue
      const file = path.join(root, name)
      const found = await lstat(file).catch(() => undefined)
      if (found?.isDirectory() === false) state.set(file, `${found.ino} ${found.size} ${found.mtimeMs}`)
    }
  }
  return state
}
