import { constants, copyFile, link, mkdir, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { CodedError, isDiskFull, messageOf, osCode } from '../../base/errors.ts'
import { at } from '../../base/at.ts'
import { filesUnder } from '../../base/files-under.ts'
import { manifests } from '../versions/recover.ts'
import { TableSync } from '../table/table-sync.ts'
import { copyObject, forEachOf, listObjects, type ObjectInfo } from '../store/objects.ts'
import { isRemote } from '../store/location.ts'
import { treeBytes } from '../store/tree.ts'

/** Folders whose files LanceDB writes once and never again: a second name for them costs nothing. */
const WRITTEN_ONCE = ['data', '_deletions', '_indices', '_transactions']
const LEFT_OUT = ['_versions', '_quarantine']
/** How a file system says that it has no hard links, or not to there. */
const NO_LINKS = ['EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EACCES']

/**
 * Makes another stored table of the newest version of a stored table, of the same files: hard links where the file system
 * has them, copies elsewhere; an object store copies within itself. From then on neither knows of the other; what one replaces, the other keeps. To be called in
 * the writer lock; on the disk when it returns. Compaction may run at the same time: the files of a version outlive it by far.
 * @param from,to folders of stored tables; `to` must not exist.
 * @throws disk_full, conflict where the version was cleaned up meanwhile.
 */
export async function cloneTable(from: string, to: string): Promise<void> {
  const newest = at(await manifests(from), 0)
  if (isRemote(from)) return copyTable(from, to, newest)
  try {
    for (const path of await filesUnder(from)) {
      const location = relative(from, path)
      const [top = ''] = location.split(sep)
      if (LEFT_OUT.includes(top) || basename(path).startsWith('.tmp')) continue
      await second(path, join(to, location), WRITTEN_ONCE.includes(top))
    }
    await second(join(from, '_versions', newest), join(to, '_versions', newest), false)
    await stat(join(to, '_versions', newest))
  } catch (error) {
    if (isDiskFull(error))
      throw new CodedError('disk_full', `The disk of the index is full: free space and try again. (${messageOf(error)})`, { cause: error })
    if (osCode(error) === 'ENOENT')
      throw new CodedError('conflict', 'The version was removed while it was being copied. Try again.', { cause: error })
    throw error
  }
  await TableSync.ofCopy(to).flush()
}

/** A second name for a file, or a copy. A file of an earlier version that is removed meanwhile is nothing to miss. */
async function second(from: string, to: string, mayLink: boolean): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  try {
    if (mayLink) return await link(from, to)
  } catch (error) {
    if (osCode(error) === 'ENOENT') return
    if (!NO_LINKS.includes(osCode(error) ?? '')) throw error
  }
  await copyFile(from, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL).catch((error: unknown) => {
    if (osCode(error) !== 'ENOENT') throw error
  })
}

async function copyTable(from: string, to: string, newest: string): Promise<void> {
  const manifest: ObjectInfo[] = []
  const files: ObjectInfo[] = []
  for await (const object of listObjects(from)) {
    const [top = ''] = object.name.split('/')
    if (object.name === `_versions/${newest}`) manifest.push(object)
    else if (!LEFT_OUT.includes(top)) files.push(object)
  }
  const copy = async ({ name, bytes }: ObjectInfo): Promise<void> => {
    try {
      await copyObject(`${from}/${name}`, `${to}/${name}`, bytes)
    } catch (error) {
      // An object of an earlier version that was removed meanwhile is nothing to miss.
      if (!(error instanceof CodedError && error.code === 'not_found')) throw error
    }
  }
  await forEachOf(files, copy)
  await forEachOf(manifest, copy)
  if ((await manifests(to)).length === 0) throw new CodedError('conflict', 'The version was removed while it was being copied. Try again.')
}

/** Bytes of the files in a folder that have no other name: what removing it would free. In an object store each has one name. */
export async function ownBytes(folder: string): Promise<number> {
  if (isRemote(folder)) return treeBytes(folder)
  let bytes = 0
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    const { nlink, size } = await stat(join(entry.parentPath, entry.name))
    if (nlink === 1) bytes += size
  }
  return bytes
}
