import { constants } from 'node:fs'
import { lstat, open, realpath } from 'node:fs/promises'
import path, { basename, join, relative, sep } from 'node:path'
import { LRUCache } from 'lru-cache'
import { CodedError, type ErrorCode, invalidIndex, notFound } from '../../../base/errors.ts'
import { sha256OfFile } from '../../../base/files.ts'
import { prefixOf } from '../../../index/read/row-ids.ts'
import { isDocument, TABLE, sourceOf } from '../sources/list.ts'
import { listedBy } from '../sources/missing.ts'
import { KeptFiles } from './kept-files.ts'
import type { JobState } from '../record/schema.ts'
import { JobStore } from '../record/store.ts'
import { isHidden } from '../sources/spool.ts'

/**
 * Resolves a name inside the import folder. Names that lead outside, directly or by symbolic links, are rejected: the service must not
 * expose other files of the machine.
 * @param only folder in it that the name must be in. Default: any
 * @returns `within`: its path relative to the import folder, with slashes; empty for the folder itself
 * @throws forbidden without an import folder, if it is missing, or for a name outside of it; not_found for a missing file
 */
export async function importPath(importDir: string | undefined, name: string, only?: string) {
  if (importDir === undefined)
    throw refusal('There is no import folder: start the service with CEPE_IMPORT_DIR, or send the corpus as the body of the request.')
  const shown = `"${name.slice(0, 200)}"`
  const outside = refusal(`${shown} is not inside the import folder: give a plain path relative to it, without ".." and symbolic links.`)
  if (name.includes('\0') || path.isAbsolute(name) || name.split(/[/\\]/).includes('..')) throw outside
  if (only !== undefined && path.normalize(name).split(path.sep)[0] !== only)
    throw refusal(`This key imports from the folder "${only}" of the import folder alone: name it, or what is in it.`)
  const root = await realpath(importDir).catch(() => {
    throw refusal(
      'The import folder is missing: whoever runs the service makes it, or sets CEPE_IMPORT_DIR to another. The corpus can be sent as the body of the request.',
    )
  })
  const wanted = path.resolve(root, name)
  const real = await realpath(wanted).catch(() => {
    throw refusal(`The import folder holds no file or folder ${shown}.`, 'not_found')
  })
  if (real !== wanted) throw outside
  const found = await lstat(real)
  if (!found.isFile() && !found.isDirectory()) throw refusal(`${shown} is neither a file nor a folder.`, 'invalid_request')
  return { path: real, within: path.relative(root, real).split(path.sep).join('/'), isFolder: found.isDirectory() }
}

function refusal(message: string, code: ErrorCode = 'forbidden'): CodedError {
  return new CodedError(code, message, { field: 'source' })
}

/** Milliseconds that the result of a check counts. */
const CHECKED_MS = 1000

/** True if a source has the form of an indexed file's path. */
export function isSourceFile(source: string): boolean {
  return (isDocument(source) || TABLE.test(source)) && !isHidden(source) && !/^[a-z][a-z\d+.-]+:/i.test(source)
}

export interface ServedFiles {
  readonly importDir: string | undefined
  /** Folder of jobs, which have recorded what they read. */
  readonly jobsDir: string
  readonly keepsUploads: boolean
}

interface FileOf {
  readonly id: string
  readonly source?: string | undefined
  readonly table: string
  /** Whether the reader may use certain collections only: then the file must be in the import folder's folder of that name. */
  readonly isBound: boolean
}

/**
 * Opens the file that a job made a passage of: a kept upload, otherwise a file in the import folder. The source alone opens nothing, since
 * whoever writes a passage or a label chooses it. Symbolic links are not followed. The caller closes the file.
 * @param options.compares a kept upload with its hash, which reads it; its size is always compared
 * @throws not_found if there is none; index_invalid for a kept upload that has changed, or a damaged record of one
 */
export async function openPassageFile(
  { importDir, jobsDir, keepsUploads }: ServedFiles,
  passage: FileOf,
  {
    store = new JobStore(jobsDir),
    compares = true,
  }: { readonly store?: Pick<JobStore, 'list' | 'folder'>; readonly compares?: boolean } = {},
) {
  const message = 'No job read the file of this passage from the import folder, and it is no upload that was kept.'
  const none = notFound('id', message)
  const { id, source, table, isBound } = passage
  // Tables have ids of their own.
  if (source === undefined || !isSourceFile(source) || !(TABLE.test(source) || id.startsWith(prefixOf(source)))) throw none
  const kept = new KeptFiles(jobsDir)
  const found = keepsUploads ? await kept.find(table, source) : undefined
  // The file may be evicted concurrently.
  const handle = found && (await open(kept.contentPath(found), 'r').catch(() => undefined))
  if (found !== undefined && handle !== undefined) {
    if ((await handle.stat()).size === found.bytes && (!compares || (await sha256OfFile(kept.contentPath(found))) === found.hash))
      return { handle, name: basename(source), bytes: found.bytes }
    await handle.close()
    throw invalidIndex('id', `The kept upload ${source} is damaged: its content is not what was uploaded. Upload the file again.`)
  }
  try {
    if (importDir === undefined) throw none
    const read = await fileRead(store, { source, table, isBound })
    const root = [importDir, await realpath(importDir)].find((folder) => read?.startsWith(folder + sep))
    if (read === undefined || root === undefined) throw none
    const name = relative(root, read)
    const located = () => importPath(importDir, name, isBound ? table : undefined)
    const { path } = await located()
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      // A parent folder may have been replaced by a link since the path was resolved.
      const [opened, inside] = await Promise.all([handle.stat(), located().then(({ path }) => lstat(path))])
      if (!opened.isFile() || opened.ino !== inside.ino || opened.dev !== inside.dev) throw none
      return { handle, name: basename(path), bytes: opened.size }
    } catch (error) {
      await handle.close()
      throw error
    }
  } catch {
    // Do not reveal why: every cause looks like a missing file.
    throw none
  }
}

/** Whether {@link openPassageFile} would open a file, a moment ago: the passages of a list share files, and those the records of jobs. */
export function fileCheck(files: ServedFiles): (passage: FileOf) => Promise<boolean> {
  const store = new JobStore(files.jobsDir)
  const jobs = new LRUCache<'jobs', ReturnType<JobStore['list']>>({ max: 1, ttl: CHECKED_MS, memoMethod: () => store.list() })
  const recent = { list: () => jobs.memo('jobs'), folder: (job: string) => store.folder(job) }
  const found = new LRUCache<string, Promise<boolean>, FileOf>({
    max: 1000,
    ttl: CHECKED_MS,
    memoMethod: (_key, _stale, { context }) =>
      openPassageFile(files, context, { store: recent, compares: false }).then(
        ({ handle }) => handle.close().then(() => true),
        () => false,
      ),
  })
  return (passage) => {
    const { id, source = '', table, isBound } = passage
    return found.memo(JSON.stringify([source, table, isBound, id.startsWith(prefixOf(source))]), { context: passage })
  }
}

/** States of jobs that may have written passages. */
const WRITING: readonly JobState[] = ['indexing', 'verifying', 'done', 'stopped', 'cancelled']

/**
 * Path of the file that the latest job with a source read; undefined if that was an upload. A collection may be a copy of another one:
 * without a bound, the documents of its jobs count too.
 */
async function fileRead(
  store: Pick<JobStore, 'list' | 'folder'>,
  { source, table, isBound }: Omit<FileOf, 'id'> & { readonly source: string },
) {
  for (const { id, table: written, state, source: from, options } of (await store.list()).reverse()) {
    const counts = written === table || !(isBound || TABLE.test(source))
    if (!counts || !WRITING.includes(state) || from.place === true || from.reembed === true) continue
    const prefix = options.label === undefined ? '' : sourceOf('', options.label)
    if (from.files === undefined ? source === (options.label ?? from.name) : (await listedBy(store.folder(id))).includes(source)) {
      if (from.path === null) return undefined
      return from.files === undefined ? from.path : join(from.path, source.slice(prefix.length))
    }
  }
  return undefined
}
