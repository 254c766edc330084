/** Writes what `npm run build:client` compiles: the client, with its types written out. */
import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { root } from '../helpers/root.ts'
import { clientTypes } from './client-types.ts'

const FROM = path.join(root, 'src/client')
const SOURCES = path.join(root, 'dist/client-src')
const PACKAGE = path.join(root, 'dist/client')

t.test('the sources of the client package', async (t) => {
  for (const folder of [SOURCES, PACKAGE]) {
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true })
  }
  for (const name of await readdir(FROM)) await copyFile(path.join(FROM, name), path.join(name.endsWith('.ts') ? SOURCES : PACKAGE, name))
  await copyFile(path.join(root, 'LICENSE'), path.join(PACKAGE, 'LICENSE'))
  await writeFile(path.join(SOURCES, 'types.ts'), await clientTypes(t))
})
