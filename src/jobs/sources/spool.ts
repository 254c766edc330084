import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import path from 'node:path'
import pLimit from 'p-limit'
import { given } from '../../../base/at.ts'
import { makeFolder, syncPath, writeFileDurably } from '../../../base/durable.ts'
import { CodedError, invalidCorpus, invalidRequest } from '../../../base/errors.ts'
import { exists } from '../../../base/exists.ts'
import { inFolder } from '../../../base/failures.ts'
import { hashing } from '../../../base/files.ts'
import { parseSealed, sealed } from '../../../base/json.ts'
import { FILE_PROBLEMS, type FileProblem } from '../../../index/read/contract.ts'
import { isDocument, TABLE, UNREAD_KIND, type FolderFile, type ListedFile } from './list.ts'

/** Normalizes the path of a file in an archive or a form. @throws corpus_invalid for an empty path, or one that leads outside */
export function entryName(given: string, holder = 'archive'): string {
  const parts = given
    .replaceAll('\\', '/')
    .split('/')
    .filter((part) => part !== '' && part !== '.')
  if (/^(?:[/\\]|[a-z]:)/i.test(given) || parts.includes('..') || parts.length === 0 || given.includes('\0')) {
    const message = `The ${holder} holds the path ${JSON.stringify(given.slice(0, 100))}, which leads out of it: it is refused.`
    throw invalidCorpus('file', message)
  }
  return parts.join('/')
}

/** True for names that begin with a dot, and metadata that macOS adds to archives. */
export function isHidden(file: string): boolean {
  return file.split('/').some((part) => part.startsWith('.') || part === '__MACOSX')
}

const DIGITS = 6
const LIST_FILE = 'files.json'
const SYNCED_TOGETHER = 32
/** Maximum characters of a path in reports. */
const LONGEST_NAME = 1000

/** List of an upload's files, stored beside them: stored files under numbers, unchanged ones, and those left out. */
const UploadListSchema = Type.Array(
  Type.Union([
    Type.Object({
      file: Type.String(),
      /** Name in the folder. Paths from an upload are never used on disk. */
      stored: Type.String({ pattern: '^[0-9]{6}$' }),
      bytes: Type.Integer(),
      /** Absent in lists of earlier software. */
      sha256: Type.Optional(Type.String()),
      modified: Type.Optional(Type.String()),
      media_type: Type.Optional(Type.String()),
      encoding: Type.Optional(Type.String()),
    }),
    Type.Object({ file: Type.String(), unchanged: Type.Literal(true) }),
    Type.Object({ file: Type.String(), problem: Type.Enum([...FILE_PROBLEMS]), detail: Type.String() }),
  ]),
)

type KeptWith = Pick<FolderFile, 'modified' | 'mediaType' | 'encoding'>

/** Stores the files of an upload in a folder, named by numbers. */
export class FileSpool {
  readonly #list: Static<typeof UploadListSchema>[number][] = []
  readonly #names = new Set<string>()
  #number = 0

  constructor(private readonly folder: string) {}

  /** Stores a file of a supported type; discards any other and lists it as left out. @throws invalid_request for a repeated name */
  async take(file: string, bytes: AsyncIterable<Buffer>, kept: KeptWith = {}): Promise<void> {
    if (this.#names.has(file)) throw invalidRequest('file', `${shown(file)} occurs twice: file names must be unique.`)
    this.#names.add(file)
    const problem = isHidden(file) ? 'hidden' : isDocument(file) || TABLE.test(file) ? undefined : 'not_supported'
    if (problem !== undefined) {
      for await (const _ of bytes) continue
      this.leaveOut(file, problem, problem === 'hidden' ? 'Its name begins with a dot.' : UNREAD_KIND)
      return
    }
    await this.keep(file, bytes, kept)
  }

  /** Stores and lists a file of any type. Removes it if it cannot be written completely. */
  async keep(file: string, bytes: AsyncIterable<Buffer>, { modified, mediaType, encoding }: KeptWith): Promise<void> {
    const hash = createHash('sha256')
    const { stored, size } = await this.store(hashing(hash, bytes))
    const time = modified === undefined || Number.isNaN(modified.getTime()) ? undefined : modified.toISOString()
    const attributes = given({ modified: time, media_type: mediaType, encoding })
    this.#list.push({ file: shown(file), stored, bytes: size, sha256: hash.digest('hex'), ...attributes })
  }

  /** Stores bytes without listing them; `finish` syncs all files at once. @returns the name in the folder, and the size */
  async store(bytes: AsyncIterable<Buffer>): Promise<{ readonly stored: string; readonly size: number }> {
    if (this.#number === 0) await makeFolder(this.folder)
    const stored = String(++this.#number).padStart(DIGITS, '0')
    try {
      await writeFile(this.pathOf(stored), bytes, { flag: 'wx' })
      return { stored, size: (await stat(this.pathOf(stored))).size }
    } catch (error) {
      await this.drop(stored)
      return inFolder(this.folder)(error)
    }
  }

  async drop(stored: string): Promise<void> {
    await rm(this.pathOf(stored), { force: true })
  }

  leaveOut(file: string, problem: FileProblem, detail: string): void {
    this.#list.push({ file: shown(file), problem, detail })
  }

  leaveUnchanged(file: string): void {
    this.#list.push({ file: shown(file), unchanged: true })
  }

  pathOf(stored: string): string {
    return path.join(this.folder, stored)
  }

  /** Syncs the files and writes the list: the spool is complete. */
  async finish(): Promise<void> {
    // The file system writes what is synced at the same time together.
    const together = pLimit(SYNCED_TOGETHER)
    await Promise.all(this.#list.map((one) => together(() => ('stored' in one ? syncPath(this.pathOf(one.stored)) : undefined))))
    await writeFileDurably(path.join(this.folder, LIST_FILE), JSON.stringify(sealed({ list: this.#list })))
  }
}

/** True if the spool of an upload is complete. */
export function isSpooled(folder: string): Promise<boolean> {
  return exists(path.join(folder, LIST_FILE))
}

/** Lists the files of a complete spool. @throws store_unavailable if it is incomplete or damaged */
export async function listSpool(folder: string): Promise<ListedFile[]> {
  const file = path.join(folder, LIST_FILE)
  const list = parseSealed(await readFile(file, 'utf8').catch(() => ''))
  if (!Value.Check(UploadListSchema, list)) {
    const message = `${file}, which lists the files that a job received, is missing or damaged: put its copy back and resume the job, or start a new one.`
    throw new CodedError('store_unavailable', message)
  }
  return list
    .toSorted((a, b) => (a.file < b.file ? -1 : 1))
    .map((one) => {
      if ('problem' in one || 'unchanged' in one) return one
      const { file, stored, bytes, sha256, encoding, media_type: mediaType } = one
      const modified = one.modified === undefined ? undefined : new Date(one.modified)
      return { file, path: path.join(folder, stored), bytes, sha256, modified, mediaType, encoding }
    })
}

/** Makes a name well-formed and short enough for records and messages. */
function shown(file: string): string {
  return file.slice(0, LONGEST_NAME).toWellFormed()
}
