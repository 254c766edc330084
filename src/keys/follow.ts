import { stat } from 'node:fs/promises'
import path from 'node:path'
import { messageOf, osCode } from '../../base/errors.ts'
import type { KeyRecord } from './record.ts'
import { keyFiles, readKey } from './store.ts'

/** State of one key's file. */
export interface KeyFile {
  /** Changes when the file is replaced or edited. */
  readonly state: string
  /** Its last valid content; undefined if there was none. */
  readonly record: KeyRecord | undefined
  /** Why it cannot be read. */
  readonly problem: string | undefined
}

/** Key files by name. */
export type KeyFiles = ReadonlyMap<string, KeyFile>

/**
 * Reads changed key files of a folder. An unreadable file keeps its last valid content and does not affect others; a removed one is
 * dropped.
 * @param known previous state
 * @throws config_invalid if the folder cannot be read
 */
export async function readChanges(dir: string, known: KeyFiles): Promise<KeyFiles> {
  const names = await keyFiles(dir)
  const files = await Promise.all(names.map(async (name) => [name, await readChange(dir, name, known.get(name))] as const))
  return new Map(files.flatMap(([name, file]) => (file === undefined ? [] : [[name, file]])))
}

async function readChange(dir: string, name: string, known: KeyFile | undefined): Promise<KeyFile | undefined> {
  let state = ''
  try {
    const { mtimeMs, size, ino } = await stat(path.join(dir, name))
    state = `${mtimeMs} ${size} ${ino}`
    // An unreadable file is retried: its permissions may change without its content.
    if (known?.state === state && known.problem === undefined) return known
    return { state, record: await readKey(dir, name), problem: undefined }
  } catch (error) {
    // Removed after the listing.
    if (osCode(error) === 'ENOENT') return undefined
    return { state, record: known?.record, problem: messageOf(error) }
  }
}
