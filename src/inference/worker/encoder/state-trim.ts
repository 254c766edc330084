import { readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { osCode } from '../../../../base/errors.ts'

/** Extension of state files. */
export const STATE_FILE = '.states'
/** SHA-256 of what the states depend on. Nothing else in the folder is ever removed. */
const NAME = /^[0-9a-f]{64}\.states$/
/** Target share of the limit after an eviction, so that the next write needs none. */
const KEPT_SHARE = 0.9

interface StateFile {
  readonly path: string
  readonly bytes: number
  readonly usedAt: number
}

/**
 * Evicts the least recently used state files of all readers if they exceed the limit. Safe to run in several processes.
 * @returns remaining bytes
 */
export async function trimStates(dir: string, maxBytes: number): Promise<number> {
  const files: StateFile[] = []
  for (const reader of await list(dir)) {
    for (const part of await list(path.join(dir, reader))) files.push(...(await statesIn(path.join(dir, reader, part))))
  }
  let bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  if (bytes <= maxBytes) return bytes
  files.sort((a, b) => a.usedAt - b.usedAt)
  for (const file of files) {
    if (bytes <= maxBytes * KEPT_SHARE) break
    await rm(file.path, { force: true })
    bytes -= file.bytes
  }
  return bytes
}

async function statesIn(folder: string): Promise<StateFile[]> {
  const names = (await list(folder)).filter((name) => NAME.test(name))
  const found = await Promise.all(
    names.map(async (name): Promise<StateFile | undefined> => {
      const file = path.join(folder, name)
      const { size, mtimeMs } = (await stat(file).catch(absent)) ?? {}
      return size === undefined || mtimeMs === undefined ? undefined : { path: file, bytes: size, usedAt: mtimeMs }
    }),
  )
  return found.filter((file) => file !== undefined)
}

async function list(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(absent)) ?? []
}

/** For files removed concurrently, and files in place of folders. */
function absent(error: unknown): undefined {
  if (['ENOENT', 'ENOTDIR'].includes(osCode(error) ?? '')) return undefined
  throw error
}
