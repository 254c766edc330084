import { lstat, readdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Looks for which files must not have changed in between: those that are being written are waited for, so many looks at most. */
const MOST_UNSTEADY = 30

export interface ChangeOptions {
  /** Milliseconds between two looks. */
  readonly everyMs: number
  /** Ends the following. */
  readonly signal: AbortSignal
}

type State = ReadonlyMap<string, string>

/**
 * Follows files, and folders with all that is below them: the paths that changed, appeared or went, each time that some did and have come to
 * rest. The first time: all. They are looked at again and again, since not every file system tells of changes (network file systems, bind
 * mounts of containers). Ends with its signal.
 */
export async function* folderChanges(paths: readonly string[], { everyMs, signal }: ChangeOptions): AsyncGenerator<ReadonlySet<string>> {
  let known: State = new Map()
  while (!signal.aborted) {
    const now = await steadyState(paths, known, { everyMs, signal })
    const changed = changedPaths(known, now)
    known = now
    if (changed.size > 0 && !signal.aborted) yield changed
    // Woken by its end too.
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
}

/** The state of the files once two looks agree, or as it was known where nothing can be seen. */
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

/** What tells each visible file from a later version of it. A folder that cannot be looked into now is taken as it was. */
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
