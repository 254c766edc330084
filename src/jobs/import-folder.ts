import { lstat, realpath } from 'node:fs/promises'
import path from 'node:path'
import { CodedError } from '../../base/errors.ts'

/** A file or folder in the import folder. */
export interface Imported {
  readonly path: string
  /** Path relative to the import folder, with slashes; empty for the folder itself. */
  readonly within: string
  readonly isFolder: boolean
}

/**
 * Resolves a name inside the import folder. Names that lead outside, directly or by symbolic links, are rejected: the service must not
 * expose other files of the machine.
 * @param only folder in it that the name must be in. Default: any
 * @throws forbidden without an import folder, if it is missing, or for a name outside of it; not_found for a missing file
 */
export async function importPath(importDir: string | undefined, name: string, only?: string): Promise<Imported> {
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
  if (only !== undefined && path.normalize(name).split(path.sep)[0] !== only)
    throw new CodedError('forbidden', `This key imports from the folder "${only}" of the import folder alone: name it, or what is in it.`, {
      field: 'source',
    })
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
