import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { osCode } from './errors.ts'

/**
 * Creates a folder and its parents; idempotent. Node's own recursive mkdir loops forever in a file system that returns ENOENT for a folder
 * with an existing parent, such as Linux's /proc.
 * @throws the file system's error
 */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    if (await isFolder(folder)) return
    if (osCode(error) !== 'ENOENT' || dirname(folder) === folder) throw error
    if (!(await isFolder(dirname(folder)))) await makeFolder(dirname(folder))
    // Another process may have created it concurrently.
    await mkdir(folder).catch(async (again: unknown) => {
      if (!(await isFolder(folder))) throw again
    })
  }
}

async function isFolder(location: string): Promise<boolean> {
  return (await stat(location).catch(() => undefined))?.isDirectory() === true
}
