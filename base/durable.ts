import { randomUUID } from 'node:crypto'
import { lchown, link, mkdir, open, rename, rm, stat, writeFile, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { onCode, osCode } from './errors.ts'
import { notRegular, orAbsent } from './exists.ts'
import { inFolder } from './failures.ts'
import { processTag, removeStaleFiles } from './process-tag.ts'

/**
 * Creates a folder and its parents; idempotent. Node's own recursive mkdir loops forever in a file system that returns ENOENT for a folder
 * with an existing parent, such as Linux's /proc.
 * @throws the file system's error
 */
export async function makeFolder(folder: string): Promise<void> {
  const make = (): Promise<void> => mkdir(folder).then(() => ownAsFolder(folder))
  await make().catch(async (error: unknown) => {
    if (await isFolder(folder)) return
    if (osCode(error) !== 'ENOENT' || dirname(folder) === folder) throw error
    await makeFolder(dirname(folder))
    // Another process may have created it concurrently.
    await make().catch(async (again: unknown) => {
      if (!(await isFolder(folder))) throw again
    })
  })
}

/** Gives what root creates in another user's folder to that user: a service that runs as that user could not read a private file. */
async function ownAsFolder(path: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(dirname(path))
  // Not the target of a link that the user made. Some file systems have no owners.
  if (uid !== 0) await lchown(path, uid, gid).catch(onCode(['EPERM', 'EINVAL', 'ENOTSUP'], () => undefined))
}

async function isFolder(location: string): Promise<boolean> {
  return (await stat(location).catch(() => undefined))?.isDirectory() === true
}

/** Fsyncs a file or folder. A missing file is no error: compaction removes some. */
export async function syncPath(path: string): Promise<void> {
  await using handle = await orAbsent(open(path, 'r'))
  await handle?.sync()
}

/** Temporary files of `writeFileDurably`, with the tag of their process. */
const TEMPORARY = /\.([0-9a-f]{16}-\d+-\d*)\.[0-9a-f-]{36}\.tmp$/
/** Folders from which this process has removed the temporary files of killed ones. */
const swept = new Set<string>()

/**
 * Writes a file atomically and durably: temporary file, fsync, rename, fsync of the folder.
 * @param options.mode permissions of the file, before the process's umask
 * @param options.exclusive fails with EEXIST if the file exists, also if another process creates it at the same time
 */
export async function writeFileDurably(
  path: string,
  content: string | Uint8Array,
  { mode = 0o666, exclusive = false }: { readonly mode?: number; readonly exclusive?: boolean } = {},
): Promise<void> {
  const folder = dirname(path)
  const aside = `${path}.${await processTag()}.${randomUUID()}.tmp`
  await makeFolder(folder)
  try {
    await writeFile(aside, content, { mode, flag: 'wx', flush: true })
    await ownAsFolder(aside)
    if (exclusive) {
      await link(aside, path)
      await rm(aside)
    } else await rename(aside, path)
  } catch (error) {
    await rm(aside, { force: true })
    inFolder(folder)(error)
  }
  await syncPath(folder)
  if (swept.has(folder)) return
  swept.add(folder)
  await removeStaleFiles(folder, (name) => TEMPORARY.exec(name)?.[1]).catch(() => undefined)
}

const NEWLINE = 10

/** Opens a file for `appendLine`. Creates it, readable by its owner only, and its folder. @throws not_found for a pipe or a device */
export async function openPrivate(path: string): Promise<FileHandle> {
  await makeFolder(dirname(path))
  const file = await open(path, 'a+', 0o600)
  if (!(await file.stat()).isFile()) {
    await file.close()
    throw notRegular(path)
  }
  await ownAsFolder(path)
  return file
}

/**
 * Appends a line to a file of lines, opened with `a+`; durable when it resolves. If it cannot be written completely, on a full disk for
 * instance, the part of it is removed. A part that a killed process left is ended first, so that it does not spoil this line.
 */
export async function appendLine(file: FileHandle, line: string): Promise<void> {
  const { size } = await file.stat()
  const { buffer: last } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1))
  const bytes = Buffer.from(`${size === 0 || last[0] === NEWLINE ? '' : '\n'}${line}\n`)
  let written = 0
  try {
    while (written < bytes.length) written += (await file.write(bytes, written)).bytesWritten
    await file.datasync()
  } catch (error) {
    // Unless another process has appended since.
    if (written > 0 && (await file.stat()).size === size + written) await file.truncate(size)
    throw error
  }
}
