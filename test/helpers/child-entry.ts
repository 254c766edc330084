import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const READER = { sources: ['base', 'models', 'src/inference', 'src/text'], entry: 'src/inference/worker/child' }
const DOCUMENTS = { sources: ['base', 'src/documents'], entry: 'src/documents/child' }

/** Modification time in milliseconds; 0 for a file that is not there. */
function changed(file: string): number {
  return statSync(path.join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/**
 * What inference processes run in tests: the compiled entry, which starts in a fraction of the time,
 * or the TypeScript one where the sources have changed since the last build.
 */
export function childEntry(): URL {
  return entryOf(READER)
}

/** The same for the process that reads files. */
export function documentsEntry(): URL {
  return entryOf(DOCUMENTS)
}

function entryOf({ sources: folders, entry }: typeof READER): URL {
  const sources = folders.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => changed(path.join(folder, name))),
  )
  const compiled = changed('dist/.tsbuildinfo') > Math.max(...sources)
  return pathToFileURL(path.join(root, compiled ? `dist/${entry}.js` : `${entry}.ts`))
}
