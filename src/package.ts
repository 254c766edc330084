import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** Folder of the package: base of relative defaults, so that `cepe` works from any working folder. */
export function packageRoot(): string {
  let folder = path.dirname(fileURLToPath(import.meta.url))
  while (!existsSync(path.join(folder, 'package.json')) && folder !== path.dirname(folder)) folder = path.dirname(folder)
  return folder
}

/** The package's version, for `--version` and the API documentation. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(path.join(packageRoot(), 'package.json'), 'utf8')) as { readonly version: string }
  return version
}
