import { constants } from 'node:fs'
import { lstat, open, type FileHandle } from 'node:fs/promises'
import { basename } from 'node:path'
import { CodedError } from '../../base/errors.ts'
import { isDocument, isTable } from './folder/list.ts'
import { importPath } from './import-folder.ts'
import { KeptFiles } from './kept/kept-files.ts'
import { isHidden } from './upload/entry-name.ts'

/** True if a source has the form of an indexed file's path. */
export function isSourceFile(source: string): boolean {
  return (isDocument(source) || isTable(source)) && !isHidden(source) && !/^[a-z][a-z\d+.-]+:/i.test(source)
}

/** An open file, to be closed by the caller. */
export interface SourceFile {
  readonly handle: FileHandle
  readonly name: string
  readonly bytes: number
}

/** Folders of source files. */
export interface ServedFiles {
  readonly importDir: string | undefined
  /** Folder of kept uploads. */
  readonly keptDir: string | undefined
}

/**
 * Opens the source file of a passage: a kept upload, otherwise a file in the import folder.
 * @throws not_found if there is neither
 */
export async function openPassageFile(
  { importDir, keptDir }: ServedFiles,
  { table, source }: { readonly table: string; readonly source: string | undefined },
): Promise<SourceFile> {
  if (keptDir !== undefined && source !== undefined && isSourceFile(source)) {
    const kept = new KeptFiles(keptDir)
    const found = await kept.find(table, source)
    // The file may be evicted concurrently.
    const handle = found && (await open(kept.contentPath(found), 'r').catch(() => undefined))
    if (found !== undefined && handle !== undefined) return { handle, name: basename(source), bytes: found.bytes }
  }
  return openSourceFile(importDir, source)
}

/**
 * Opens the file named by a passage's source, if it is in the import folder and of a supported type. Symbolic links are not followed.
 * @throws not_found otherwise
 */
async function openSourceFile(importDir: string | undefined, source: string | undefined): Promise<SourceFile> {
  const none = new CodedError('not_found', 'The file of this passage does not lie in the import folder, and is no upload that was kept.', {
    field: 'id',
  })
  if (source === undefined || !isSourceFile(source)) throw none
  try {
    const { path } = await importPath(importDir, source)
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      // A parent folder may have been replaced by a link since the path was resolved.
      const [opened, inside] = await Promise.all([handle.stat(), importPath(importDir, source).then(({ path }) => lstat(path))])
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
