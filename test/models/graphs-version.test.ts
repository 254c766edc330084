/**
 * A start builds a model again if its graphs have another version than the builder's. So that none changes without a new one,
 * test/fixtures/graphs-version.json holds the digest of some graphs; after a change raise GRAPHS_VERSION and run this test with --write.
 */
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { buildModel, isBuiltFrom } from '../../models/build.ts'
import { loadManifest } from '../../models/folder.ts'
import { GRAPHS_VERSION } from '../../models/manifest.ts'
import { root } from '../helpers/root.ts'

const RECORD = path.join(root, 'test/fixtures/graphs-version.json')
const CHECKPOINTS = ['models/tiny/checkpoint/cepe', 'models/tiny/checkpoint/contriever', 'test/fixtures/rerankers/bert']

await t.test('other graphs have another version', async (t) => {
  const dir = t.testdir({})
  const hash = createHash('sha256')
  for (const from of CHECKPOINTS)
    for (const dtype of ['f32', 'int8', 'int8-blocks'] as const) {
      const outDir = path.join(dir, `${path.basename(from)}-${dtype}`)
      const { files } = await buildModel({ checkpointDir: path.join(root, from), outDir, dtype })
      for (const { name, sha256 } of files) if (name.endsWith('.onnx')) hash.update(`${name} ${sha256}\n`)
    }
  const built = { version: GRAPHS_VERSION, sha256: hash.digest('hex') }
  if (process.argv.includes('--write')) await writeFile(RECORD, `${JSON.stringify(built, undefined, 2)}\n`)
  t.same(built, JSON.parse(await readFile(RECORD, 'utf8')))
})

await t.test('a model with graphs of another version is built again', async (t) => {
  const checkpointDir = path.join(root, 'models/tiny/checkpoint/cepe')
  const outDir = path.join(t.testdir({}), 'built')
  await buildModel({ checkpointDir, outDir, dtype: 'f32' })
  const { graphs_version: _, ...earlier } = await loadManifest(outDir)
  t.equal(await isBuiltFrom({ ...earlier, graphs_version: GRAPHS_VERSION }, checkpointDir), true)
  t.equal(await isBuiltFrom({ ...earlier, graphs_version: GRAPHS_VERSION + 1 }, checkpointDir), false)
  t.equal(await isBuiltFrom(earlier, checkpointDir), false, 'builds before there were versions')
})
