import type { Dirent } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import path from 'node:path'
import { messageOf, notFound, osCode } from '../../../base/errors.ts'
import type { FileProblem } from '../../../index/read/contract.ts'
import { typeOfName } from '../../documents/type.ts'

export interface FolderFile {
  /** Path relative to the folder, with slashes: the source of its passages. */
  readonly file: string
  readonly path: string
  readonly bytes: number
  /** SHA-256 of an upload as it was received. */
  readonly sha256?: string | undefined
  readonly modified?: Date | undefined
  /** Media type it was received with, including parameters. */
  readonly mediaType?: string | undefined
  /** Encoding named by its content type. */
  readonly encoding?: string | undefined
}

/** A file or folder that is not read, with the reason. */
export interface LeftOutFile {
  readonly file: string
  readonly problem: FileProblem
  readonly detail: string
}

/** Result of listing one file. The passages of a web page that has not changed since it was last fetched are in the table. */
export type ListedFile = FolderFile | LeftOutFile | { readonly file: string; readonly unchanged: true }

/** Names of tables of passages, and of archives. */
export const TABLE = /\.(tsv|csv|jsonl|ndjson|json|parquet)(\.gz|\.zst)?$/i
export const ARCHIVE = /\.(?:zip|tar|tgz|tar\.gz)$/i

/** Why a file of another kind is left out. */
export const UNREAD_KIND =
  'Files of this kind are not read. Read are text, Markdown, HTML, PDF, Office, OpenDocument, EPUB, mail, notebooks, subtitles, source code and, with CEPE_OCR, pictures.'

/** The source of a file's passages. */
export function sourceOf(file: string, label: string | undefined): string {
  return label === undefined ? file : `${label.replace(/\/+$/, '')}/${file}`
}

/** True if the file name is that of a document. */
export function isDocument(name: string): boolean {
  return typeOfName(name) !== undefined
}

/**
 * Lists the documents in a folder and its subfolders, and everything that is left out, sorted by name. Tables are included only with
 * `withTables`; links and pipes that are named as tables are always reported. Symbolic links are not followed; names that begin with a
 * dot are left out.
 * @throws not_found for a missing folder
 */
export async function listFolder(root: string, withTables = false): Promise<(FolderFile | LeftOutFile)[]> {
  const found: (FolderFile | LeftOutFile)[] = []
  const list = async (folder: string, entries: readonly Dirent[]): Promise<void> => {
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const file = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.name.startsWith('.')) found.push({ file, problem: 'hidden', detail: 'Its name begins with a dot.' })
      else if (entry.isDirectory()) {
        const below = await readdir(path.join(root, file), { withFileTypes: true }).catch((error: unknown) => unreadable(file, error))
        if ('problem' in below) found.push(below)
        else await list(file, below)
      } else if (withTables || !TABLE.test(entry.name) || !entry.isFile()) found.push(await fileOf(root, file))
    }
  }
  const entries = await readdir(root, { withFileTypes: true }).catch((error: unknown) => {
    if (osCode(error) === 'ENOENT') throw notFound('file', `The folder ${root} does not exist.`, error)
    throw error
  })
  await list('', entries)
  return found
}

/** A file of a folder, of any type. */
export async function fileOf(root: string, file: string): Promise<FolderFile | LeftOutFile> {
  const at = path.join(root, file)
  const found = await lstat(at).catch((error: unknown) => unreadable(file, error))
  if ('problem' in found) return found
  if (found.isSymbolicLink()) return { file, problem: 'link', detail: 'Symbolic links are not followed.' }
  if (!found.isFile()) return { file, problem: 'not_supported', detail: 'It is no regular file.' }
  if (!isDocument(file) && !TABLE.test(file)) return { file, problem: 'not_supported', detail: UNREAD_KIND }
  return { file, path: at, bytes: found.size, modified: found.mtime }
}

/** Describes why a file or folder cannot be read. */
export function unreadable(file: string, error: unknown): LeftOutFile {
  // Node.js reads names as UTF-8: a file of another is listed, but not found.
  if (file.includes('\uFFFD') && osCode(error) === 'ENOENT')
    return { file, problem: 'unreadable', detail: 'Its name is not UTF-8: rename it.' }
  return { file, problem: 'unreadable', detail: `It cannot be read (${osCode(error) ?? messageOf(error)}).` }
}
