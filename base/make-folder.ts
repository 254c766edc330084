import { chown, mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { onCode, osCode } from './errors.ts'

/**
 * Creates a folder and its parents; idempotent. Node's own recursive mkdir loops forever in a file system that returns ENOENT for a folder
 * with an existing parent, such as Linux's /proc.
 * @throws the file system's error
 */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder)
    await ownAsFolder(folder)
  } catch (error) {
    if (await isFolder(folder)) return
    if (osCode(error) !== 'ENOENT' || dirname(folder) === folder) throw error
    if (!(await isFolder(dirname(folder)))) await makeFolder(dirname(folder))
    // Another process may have created it concurrently.
    await mkdir(folder).catch(async (again: unknown) => {
      if (!(await isFolder(folder))) throw again
    })
    await ownAsFolder(folder)
  }
}

/** Gives what root creates in another user's folder to that user: a service that runs as that user could not read a private file. */
export async function ownAsFolder(path: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(dirname(path))
  // Some file systems have no owners.
  if (uid !== 0) await chown(path, uid, gid).catch(onCode(['EPERM', 'EINVAL', 'ENOTSUP'], () => undefined))
}

async function isFolder(location: string): Promise<boolean> {
  return (await stat(location).catch(() => undefined))?.isDirectory() === true
}
