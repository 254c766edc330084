import path from 'node:path'
import { lstat, readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { TABLE } from '../../jobs/sources/list.ts'
import type { Corpus, Source } from './corpus-files.ts'
import { Interrupted } from '../program/interrupted.ts'
import { print, say } from '../program/shown.ts'

interface Watch {
  /** Polling interval in seconds. */
  readonly seconds: number
  readonly corpus: () => Promise<Corpus>
  /** Indexes it; stops early with the signal. */
  readonly add: (corpus: Corpus, signal: AbortSignal) => Promise<void>
}

/**
 * Indexes files and folders, and then their changes, until Ctrl-C or SIGTERM. Errors of a run are printed, and retried with the next one.
 * @throws Interrupted if a job was running at the end; errors other than CodedError
 */
export async function watchCorpus(given: readonly string[], { seconds, corpus, add }: Watch): Promise<void> {
  const ending = new AbortController()
  const end = (): void => ending.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end)
  try {
    const paths = given.map((one) => path.resolve(one))
    for await (const changed of folderChanges(paths, { everyMs: seconds * 1000, signal: ending.signal })) {
      try {
        await add(changedOf(await corpus(), changed), ending.signal)
      } catch (error) {
        if (error instanceof Interrupted || !(ending.signal.aborted || error instanceof CodedError)) throw error
        if (!ending.signal.aborted) say(`cepe: ${messageOf(error)}`)
      }
      if (!ending.signal.aborted) await print(`Watching ${given.join(', ')} for changes, every ${seconds} s; Ctrl-C ends it\n`)
    }
    await print('Watching has ended; nothing is left undone\n')
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, end)
  }
}

/** The changed part of a corpus: changed tables and archives, and folders of documents with a changed file. */
function changedOf(corpus: Corpus, changed: ReadonlySet<string>): Corpus {
  const hasChanged = (source: Source): boolean => {
    if (source.kind !== 'documents') return changed.has(source.path)
    const { path: folder, only } = source
    if (only !== undefined) return only.some((name) => changed.has(path.join(folder, name)))
    return [...changed].some((file) => file.startsWith(folder + path.sep) && !TABLE.test(file))
  }
  return { ...corpus, sources: corpus.sources.filter(hasChanged) }
}

/** Files still being written are waited for, up to this number of polls without a stable state. */
const MOST_UNSTEADY = 30

/** Polling interval in milliseconds, and what ends the iteration. */
type Polling = { readonly everyMs: number; readonly signal: AbortSignal }
type State = ReadonlyMap<string, string>

/**
 * Follows files and folders recursively: yields the paths that changed, appeared or disappeared, once they are stable. The first time: all.
 * Polls, since not every file system reports changes (network file systems, bind mounts of containers). Ends with its signal.
 */
async function* folderChanges(paths: readonly string[], { everyMs, signal }: Polling): AsyncGenerator<ReadonlySet<string>> {
  let known: State = new Map()
  let before = known
  for (let looks = 0; !signal.aborted;) {
    const now = await stateOf(paths, known)
    const changed = changedPaths(known, now)
    const isSteady = known.size === 0 || changedPaths(before, now).size === 0 || looks === MOST_UNSTEADY
    before = now
    looks = isSteady ? 0 : looks + 1
    if (isSteady) known = now
    if (isSteady && changed.size > 0) yield changed
    // Also woken by the end.
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
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
