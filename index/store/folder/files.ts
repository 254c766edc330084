import { constants, copyFile, link, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, relative, sep } from 'node:path'
import { ageOf } from '../../../base/locks/clock.ts'
import { syncPath, writeFileDurably } from '../../../base/durable.ts'
import { CodedError, osCode } from '../../../base/errors.ts'
import { filesUnder } from '../../../base/files.ts'
import type { FileInfo, Files } from '../store.ts'
import { makeFolder } from '../../../base/make-folder.ts'

/** Errors of a file system without hard links, or without links to the target. */
const NO_LINKS = ['EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EACCES']

export const folderFiles: Files = {
  makeFolder,

  async list(dir) {
    return ((await orAbsent(readdir(dir))) ?? []).sort()
  },

  walk,

  async age(path) {
    const status = await orAbsent(stat(path))
    return status === undefined ? Infinity : ageOf(status.mtimeMs)
  },

  async identity(dir) {
    const status = await orAbsent(stat(dir))
    return status && `${status.dev} ${status.ino}`
  },

  read: (path) => orAbsent(readFile(path, 'utf8')),
  write: writeFileDurably,
  remove: (path) => rm(path, { force: true }),
  removeTree: (dir) => rm(dir, { recursive: true, force: true }),

  async rename(from, to) {
    await rename(from, to)
    await syncPath(dirname(to))
  },

  async copy(from, to, { writtenOnce }) {
    await makeFolder(dirname(to))
    try {
      if (writtenOnce) {
        await link(from, to)
        return true
      }
    } catch (error) {
      if (osCode(error) === 'ENOENT') return false
      if (!NO_LINKS.includes(osCode(error) ?? '')) throw error
    }
    return copied(copyFile(from, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL))
  },

  async download(path, to) {
    if (!(await copied(copyFile(path, to)))) throw new CodedError('not_found', `${path} has gone.`)
  },
}

async function* walk(dir: string, most = Infinity): AsyncGenerator<FileInfo> {
  for (const path of (await filesUnder(dir)).sort().slice(0, most)) {
    const status = await orAbsent(stat(path))
    if (status === undefined) continue
    yield { name: relative(dir, path).split(sep).join('/'), bytes: status.size, shared: status.nlink > 1 }
  }
}

/** False if the source does not exist. */
async function copied(copying: Promise<void>): Promise<boolean> {
  return (await orAbsent(copying.then(() => true))) ?? false
}

/** Undefined if there is no such file. */
export async function orAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (osCode(error) === 'ENOENT') return undefined
    throw error
  }
}
