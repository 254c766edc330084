/**
 * Bundles typebox, 700 modules, into a few files in dist/vendor, once for each of its versions: a process that imports them starts half a second
 * of processor time earlier. `imports` in package.json leads the compiled code there, and the compiler to typebox itself.
 */
import { existsSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

const FOLDER = 'dist/vendor/typebox'
const ENTRIES = { index: 'typebox', value: 'typebox/value', compile: 'typebox/compile', system: 'typebox/system' }

const { version } = JSON.parse(await readFile('node_modules/typebox/package.json', 'utf8'))
const stamp = path.join(FOLDER, 'VERSION')
const bundled = existsSync(stamp) ? await readFile(stamp, 'utf8') : undefined
if (bundled !== version) {
  const { build } = await import('rolldown')
  // Moved into place whole: a service may be starting from the same folder.
  const aside = `${FOLDER}.${process.pid}`
  await build({ input: ENTRIES, platform: 'node', logLevel: 'warn', output: { dir: aside } })
  await writeFile(path.join(aside, 'VERSION'), version)
  if (bundled !== undefined) await rm(FOLDER, { recursive: true, force: true })
  await rename(aside, FOLDER).catch(async (error) => {
    await rm(aside, { recursive: true })
    // Another build was faster.
    if (!existsSync(stamp)) throw error
  })
}
