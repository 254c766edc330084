import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder and those above it; one that is there is left as it is. Node's own recursive mkdir never ends in a file system that
 * answers ENOENT for a folder whose parent is there, as Linux's /proc does.
 * @throws the file system's error
 */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (await isFolder(folder)) return
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error
    if (!(await isFolder(dirname(folder)))) await makeFolder(dirname(folder))
    // Somebody else may have made it meanwhile.
    await mkdir(folder).catch(async (again: unknown) => {
      if (!(await isFolder(folder))) throw again
    })
  }
}

async function isFolder(location: string): Promise<boolean> {
  return (await stat(location).catch(() => undefined))?.isDirectory() === true
}
