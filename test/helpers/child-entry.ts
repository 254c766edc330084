import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const SOURCES = ['src/inference', 'src/text']

/** Modification time in milliseconds; 0 for a file that is not there. */
const changed = (file: string): number => statSync(path.join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0

/**
 * What inference processes run in tests: the compiled entry, which starts in a fraction of the time,
 * or the TypeScript one where the sources have changed since the last build.
 */
export const childEntry = (): URL => {
  const sources = SOURCES.flatMap((folder) => readdirSync(path.join(root, folder)).map((name) => changed(path.join(folder, name))))
  const compiled = changed('dist/.tsbuildinfo') > Math.max(...sources)
  return pathToFileURL(path.join(root, compiled ? 'dist/src/inference/child.js' : 'src/inference/child.ts'))
}
