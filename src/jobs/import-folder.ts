import { lstat, realpath } from 'node:fs/promises'
import path from 'node:path'
import { CodedError } from '../../base/errors.ts'

/** A file or folder in the import folder. */
export interface Imported {
  readonly path: string
  /** Its path in the import folder, with slashes; empty for the folder itself. */
  readonly within: string
  readonly isFolder: boolean
}

/**
 * A file or folder in the import folder. Only what is inside it, reached without symbolic links, may be named: the
 * service must not become a way to read other files of its machine.
 * @throws forbidden without an import folder, where it is missing, or for a name that leads out of it, not_found for what is missing.
 */
export async function importPath(importDir: string | undefined, name: string): Promise<Imported> {
  if (importDir === undefined)
    throw new CodedError(
      'forbidden',
      'There is no import folder: start the service with CEPE_IMPORT_DIR, or send the corpus as the body of the request.',
      { field: 'source' },
    )
  const outside = new CodedError(
    'forbidden',
    `"${name.slice(0, 200)}" is not inside the import folder: give a plain path relative to it, without ".." and symbolic links.`,
    { field: 'source' },
  )
  if (name.includes('\0') || path.isAbsolute(name) || name.split(/[/\\]/).includes('..')) throw outside
  const root = await realpath(importDir).catch(() => {
    throw new CodedError(
      'forbidden',
      'The import folder is missing: whoever runs the service makes it, or sets CEPE_IMPORT_DIR to another. The corpus can be sent as the body of the request.',
      { field: 'source' },
    )
  })
  const wanted = path.resolve(root, name)
  const real = await realpath(wanted).catch(() => {
    throw new CodedError('not_found', `The import folder holds no file or folder "${name.slice(0, 200)}".`, { field: 'source' })
  })
  if (real !== wanted) throw outside
  const found = await lstat(real)
  if (!found.isFile() && !found.isDirectory())
    throw new CodedError('invalid_request', `"${name.slice(0, 200)}" is neither a file nor a folder.`, { field: 'source' })
  return { path: real, within: path.relative(root, real).split(path.sep).join('/'), isFolder: found.isDirectory() }
}
