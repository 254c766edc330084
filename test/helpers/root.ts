import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** Folder of the repository: this file runs as dist-test/test/helpers/root.js. */
export const root = fileURLToPath(new URL('../../../', import.meta.url))

/** A file of the repository that is not compiled. */
export function fileUrl(name: string): URL {
  return pathToFileURL(path.join(root, name))
}
