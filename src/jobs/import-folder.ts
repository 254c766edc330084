import { lstat, realpath } from 'node:fs/promises'
import path from 'node:path'
import { CodedError } from '../../base/errors.ts'

/**
 * The path of a file in the import folder. Only files inside it, reached without symbolic links, may be named: the
 * service must not become a way to read other files of its machine.
 * @throws forbidden without an import folder, where it is missing, or for a name that leads out of it, not_found for a missing file.
 */
export async function importPath(importDir: string | undefined, name: string): Promise<string> {
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
  const wanted = path.join(root, name)
  const real = await realpath(wanted).catch(() => {
    throw new CodedError('not_found', `The import folder holds no file "${name.slice(0, 200)}".`, { field: 'source' })
  })
  if (real !== wanted) throw outside
  if (!(await lstat(real)).isFile()) throw new CodedError('invalid_request', `"${name.slice(0, 200)}" is not a file.`, { field: 'source' })
  return real
}
