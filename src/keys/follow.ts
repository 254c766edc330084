import { stat } from 'node:fs/promises'
import path from 'node:path'
import { messageOf, osCode } from '../../base/errors.ts'
import type { KeyRecord } from './record.ts'
import { keyFiles, readKey } from './store.ts'

/** What is known of one key's file. */
export interface KeyFile {
  /** Changes when the file is replaced or edited. */
  readonly state: string
  /** Its last good content; undefined where it never had any. */
  readonly record: KeyRecord | undefined
  /** Why it cannot be read now. */
  readonly problem: string | undefined
}

/** Key files by name. */
export type KeyFiles = ReadonlyMap<string, KeyFile>

/**
 * Reads the key files of a folder that changed. One that cannot be read keeps its last good content and holds up no other; one that
 * was removed is left out.
 * @param known what was read before
 * @throws config_invalid where the folder itself cannot be read
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
    // One that could not be read is tried again: its rights may change, and its content not.
    if (known?.state === state && known.problem === undefined) return known
    return { state, record: await readKey(dir, name), problem: undefined }
  } catch (error) {
    // Removed after the folder was listed.
    if (osCode(error) === 'ENOENT') return undefined
    return { state, record: known?.record, problem: messageOf(error) }
  }
}
