import { randomUUID } from 'node:crypto'
import { constants, copyFile, link, open, readdir, rename, rm, stat, statfs, utimes, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { makeFolder, syncPath, writeFileDurably } from '../../../base/durable.ts'
import { CodedError, onCode, osCode } from '../../../base/errors.ts'
import { orAbsent, readText } from '../../../base/exists.ts'
import { inFolder } from '../../../base/failures.ts'
import { filesUnder } from '../../../base/files.ts'
import { parseJson } from '../../../base/json.ts'
import { ageOf } from '../../../base/clock.ts'
import { takeLock } from '../../../base/locks/lock.ts'
import { processTag, stateOf } from '../../../base/process-tag.ts'
import type { Files, Logs, Marks, Store, Values } from '../store.ts'

/** Errors of a file system without hard links, or without links to the target. */
const NO_LINKS = ['EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EACCES']

const folderFiles: Files = {
  makeFolder,

  async list(dir) {
    return ((await orAbsent(readdir(dir))) ?? []).sort()
  },

  async *walk(dir, most = Infinity) {
    for (const path of (await filesUnder(dir)).sort().slice(0, most)) {
      const status = await orAbsent(stat(path))
      if (status === undefined) continue
      yield { name: relative(dir, path).split(sep).join('/'), bytes: status.size, shared: status.nlink > 1 }
    }
  },

  async age(path) {
    const status = await orAbsent(stat(path))
    return status === undefined ? Infinity : ageOf(status.mtimeMs)
  },

  async identity(dir) {
    const status = await orAbsent(stat(dir))
    return status && `${status.dev} ${status.ino}`
  },

  read: readText,
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

/** False if the source does not exist. */
async function copied(copying: Promise<void>): Promise<boolean> {
  return (await orAbsent(copying.then(() => true))) ?? false
}

function textOf(value: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(value)}\n`
}

/** Each value is a JSON file, replaced by a rename. */
const folderValues: Values = {
  async read(path) {
    const text = await folderFiles.read(path)
    return text === undefined ? undefined : (parseJson(text) ?? null)
  },

  write: (path, value) => writeFileDurably(path, textOf(value)),

  create: (path, value) =>
    writeFileDurably(path, textOf(value), { exclusive: true }).then(
      () => true,
      onCode(['EEXIST'], () => false),
    ),

  remove: (path) => rm(path, { force: true }),
  age: (path) => folderFiles.age(path),
}

const SUFFIX = '.jsonl'

function pathOf(folder: string, name: string): string {
  return join(folder, `${name}${SUFFIX}`)
}

/** Each log is a file to which lines are appended. */
const folderLogs: Logs = {
  async names(folder) {
    const files = await folderFiles.list(folder)
    return files.filter((name) => name.endsWith(SUFFIX)).map((name) => name.slice(0, -SUFFIX.length))
  },

  async begin(folder, name) {
    await makeFolder(folder)
    await (await open(pathOf(folder, name), 'a')).close()
    await syncPath(folder)
    await syncPath(dirname(folder))
  },

  end: (folder, name) => rm(pathOf(folder, name), { force: true }),

  async append(folder, name, entry) {
    // Not created: a log that has ended stays removed.
    await using file = await orAbsent(open(pathOf(folder, name), constants.O_WRONLY | constants.O_APPEND))
    // Begins with a newline, so that an entry after a torn one is valid.
    await file?.appendFile(`\n${entry}`).catch(inFolder(folder))
    await file?.datasync()
  },

  reader(folder, name) {
    let offset = 0
    return async () => {
      const read = await readFrom(pathOf(folder, name), offset)
      offset += read.length
      return read
        .toString('utf8')
        .split('\n')
        .filter((line) => line !== '')
    }
  },
}

/** Reads appended bytes up to the last newline; an entry after it may be incomplete. */
async function readFrom(path: string, offset: number): Promise<Buffer> {
  await using file = await orAbsent(open(path, 'r'))
  if (file === undefined) return Buffer.alloc(0)
  const { size } = await file.stat()
  const bytes = Buffer.alloc(size - offset)
  await file.read(bytes, 0, bytes.length, offset)
  // An entry is complete once the next one begins or it parses; a torn one is read again, and never parses.
  const end = parseJson(bytes.subarray(bytes.lastIndexOf(10) + 1).toString()) === undefined ? bytes.lastIndexOf(10) : bytes.length
  return bytes.subarray(0, Math.max(0, end))
}

/** Heartbeat of a process on another machine or in a container; without one for `SILENT_MS` it is dead. Clocks may differ by minutes. */
const HEARTBEAT_MS = 30_000
const SILENT_MS = 10 * 60_000

/** `<name>~<process tag>~<unique>` */
const MARK_FILE = /^(.+)~([0-9a-f-]+)~[0-9a-f-]+$/

const folderMarks: Marks = {
  async put(folder, name) {
    const path = join(folder, `${name}~${await processTag()}~${randomUUID()}`)
    try {
      await makeFolder(folder)
      await writeFile(path, '', { flag: 'wx' })
    } catch {
      // This process has no write permission there.
      return () => Promise.resolve()
    }
    const beat = setInterval(() => {
      utimes(path, new Date(), new Date()).catch(() => undefined)
    }, HEARTBEAT_MS).unref()
    return async () => {
      clearInterval(beat)
      await rm(path, { force: true }).catch(() => undefined)
    }
  },

  async list(folder) {
    const held: string[] = []
    for (const file of await folderFiles.list(folder)) {
      const [, name, tag = ''] = MARK_FILE.exec(file) ?? []
      if (name === undefined) continue
      const path = join(folder, file)
      const state = await stateOf(tag)
      if (state === 'elsewhere' ? (await folderFiles.age(path)) < SILENT_MS : state === 'alive') held.push(name)
      else await rm(path, { force: true })
    }
    return held
  },
}

/** An index in a folder, local or shared by machines. */
export const folderStore: Store = {
  keepsFiles: true,
  renames: true,
  durable: false,
  slowReads: false,
  locksCanBeLost: false,
  join,
  resolve,
  check: () => Promise.resolve(),
  freeBytes,
  lanceOptions: () => undefined,
  files: folderFiles,
  values: folderValues,
  locks: {
    take: (location, { waitMs, signal }) => takeLock(location, waitMs, signal),
    of: (_value, file) => file,
    check: () => Promise.resolve(),
  },
  logs: folderLogs,
  marks: folderMarks,
}

/** Free bytes of a folder, which need not exist yet. */
async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch (error) {
    if (osCode(error) === 'ENOENT' && dirname(folder) !== folder) return freeBytes(dirname(folder))
    throw error
  }
}
