import { lstat, realpath } from 'node:fs/promises'
import path from 'node:path'
import { CodedError, type ErrorCode } from '../../base/errors.ts'

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
