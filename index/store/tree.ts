import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { writeFileDurably } from '../../base/durable.ts'
import { osCode } from '../../base/errors.ts'
import { filesUnder } from '../../base/files-under.ts'
import { deleteBeneath, listNames, listObjects, putObject, readObject } from './objects.ts'
import { isRemote } from './location.ts'

/** Names of what is directly in a folder, or beneath an address; none where there is no such folder. */
export async function namesIn(dir: string): Promise<string[]> {
  if (isRemote(dir)) return listNames(dir)
  try {
    return await readdir(dir)
  } catch (error) {
    if (osCode(error) === 'ENOENT') return []
    throw error
  }
}

/** Removes a folder, or what is beneath an address. */
export async function removeTree(dir: string): Promise<void> {
  if (isRemote(dir)) return deleteBeneath(dir)
  await rm(dir, { recursive: true, force: true })
}

/** Writes a small file or object, whole or not at all; durable when it returns. */
export async function writeText(path: string, text: string): Promise<void> {
  if (isRemote(path)) await putObject(path, text)
  else await writeFileDurably(path, text)
}

/** The content of a small file or object; undefined where there is none. */
export async function readText(path: string): Promise<string | undefined> {
  if (isRemote(path)) return (await readObject(path))?.text
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (osCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Bytes that the files in a folder take, or the objects beneath an address. */
export async function treeBytes(dir: string): Promise<number> {
  let bytes = 0
  if (isRemote(dir)) {
    for await (const object of listObjects(dir)) bytes += object.bytes
    return bytes
  }
  for (const file of await filesUnder(dir)) {
    // Files that another process removed meanwhile take nothing.
    bytes += await stat(file).then(
      ({ size }) => size,
      (error: unknown) => {
        if (osCode(error) === 'ENOENT') return 0
        throw error
      },
    )
  }
  return bytes
}
