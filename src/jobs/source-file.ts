import { constants } from 'node:fs'
import { lstat, open, type FileHandle } from 'node:fs/promises'
import { basename } from 'node:path'
import { CodedError } from '../../base/errors.ts'
import { isDocument, isTable } from './folder/list.ts'
import { importPath } from './import-folder.ts'
import { isHidden } from './upload/entry-name.ts'

/** Whether a source may be the path of a file that was indexed, by its name. */
export function isSourceFile(source: string): boolean {
  return (isDocument(source) || isTable(source)) && !isHidden(source) && !/^[a-z][a-z\d+.-]+:/i.test(source)
}

/** A file that was opened; the caller closes it. */
export interface SourceFile {
  readonly handle: FileHandle
  readonly name: string
  readonly bytes: number
}

/**
 * Opens the file that a passage's source names, where it lies in the import folder and is of a kind that is indexed. No link on the way to
 * it is followed.
 * @throws not_found for any other
 */
export async function openSourceFile(importDir: string, source: string | undefined): Promise<SourceFile> {
  const none = new CodedError('not_found', 'The file of this passage does not lie in the import folder: its source names none there.', {
    field: 'id',
  })
  if (source === undefined || !isSourceFile(source)) throw none
  try {
    const { path } = await importPath(importDir, source)
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      // A folder on the way may have become a link since it was looked at.
      const [opened, inside] = await Promise.all([handle.stat(), importPath(importDir, source).then(({ path }) => lstat(path))])
      if (!opened.isFile() || opened.ino !== inside.ino || opened.dev !== inside.dev) throw none
      return { handle, name: basename(path), bytes: opened.size }
    } catch (error) {
      await handle.close()
      throw error
    }
  } catch {
    // Whatever is in the way, nothing is told of it: only that there is no such file.
    throw none
  }
}
