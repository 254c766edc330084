import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { processTag } from '../../base/process-tag.ts'
import { writeSyntheticCheckpoint } from '../fixtures/synthetic-checkpoint.ts'
import { buildModel } from '../../models/build.ts'
import { loadCepeManifest, loadContrieverManifest, loadManifest } from '../../models/folder.ts'
import { checkFiles } from '../../models/integrity.ts'
import { compareBuilds, verifyGolden } from '../../src/inference/worker/tasks/verify.ts'
import { LLAMA_CONFIG, weightsFor, writeFolder } from '../fixtures/checkpoint-folder.ts'
import { f32Safetensors } from '../fixtures/weights.ts'
import { CEPE, FIXTURES, goldenFiles, temporaryFolder } from './helpers.ts'

const CHECKPOINT = `${FIXTURES}/cepe-tiny-gqa`

await t.test('a built folder is complete, described and sound', async (t) => {
  const outDir = join(temporaryFolder(t), 'model')
  const seen: number[] = []
  const manifest = await buildModel({
    checkpointDir: CHECKPOINT,
    outDir,
    dtype: 'f32',
    onProgress: ({ done, total }) => seen.push(done / total),
  })
  t.same(
    seen,
    [...seen].sort((a, b) => a - b),
  )
  t.equal(seen.at(-1), 1)
  t.same(await loadManifest(outDir), manifest)
  t.same(manifest.files.map(({ name }) => name).sort(), [
    'cepe_continue.onnx',
    'cepe_encoder.onnx',
    'cepe_generate.onnx',
    'cepe_step.onnx',
    'weights.bin',
  ])
  const bytes = statSync(join(outDir, 'weights.bin')).size
  t.ok(bytes < 1.2 * statSync(join(CHECKPOINT, 'model.safetensors')).size, 'shared weights are stored once')
  await checkFiles(outDir, manifest)
})

await t.test('damage is found and named, also after a sound check', async (t) => {
  const outDir = join(temporaryFolder(t), 'model')
  const manifest = await buildModel({ checkpointDir: CHECKPOINT, outDir, dtype: 'f32' })
  await checkFiles(outDir, manifest)
  writeFileSync(join(outDir, '.verified.json'), '{"weights.bin": ')
  await checkFiles(outDir, manifest)
  t.equal((await loadCepeManifest(outDir)).architecture, 'cepe')
  await t.rejects(loadContrieverManifest(outDir), {
    code: 'model_invalid',
    message: /model has a reader: choose a folder with a retriever$/,
  })
  const graph = join(outDir, 'cepe_step.onnx')
  const [whole, { atime, mtime }] = [readFileSync(graph), statSync(graph)]
  for (const content of [whole.map((byte, i) => (i === 1000 ? byte ^ 1 : byte)), whole]) {
    writeFileSync(graph, content)
    utimesSync(graph, atime, mtime)
    const checked = checkFiles(outDir, manifest)
    if (content === whole) await checked
    else await t.rejects(checked, { code: 'model_invalid', message: /cepe_step\.onnx is damaged/ }, 'by a disk, which leaves the time')
  }
  const data = join(outDir, 'weights.bin')
  const bytes = readFileSync(data)
  bytes[1000] = (bytes[1000] ?? 0) ^ 1
  writeFileSync(data, bytes)
  utimesSync(data, new Date(), new Date(Date.now() + 5000))
  await t.rejects(checkFiles(outDir, manifest), { code: 'model_invalid', message: /weights\.bin is damaged/ })
  appendFileSync(data, 'x')
  await t.rejects(checkFiles(outDir, manifest), { code: 'model_invalid', message: /weights\.bin has \d+ bytes, the manifest says/ })
  rmSync(join(outDir, 'cepe_step.onnx'))
  await t.rejects(checkFiles(outDir, { ...manifest, files: manifest.files.filter(({ name }) => name !== 'weights.bin') }), {
    message: /cepe_step\.onnx is missing/,
  })
  await t.rejects(loadCepeManifest(outDir), { code: 'model_invalid', message: /is missing|has \d+ bytes/ })
  writeFileSync(join(outDir, 'manifest.json'), JSON.stringify({ ...manifest, dims: { ...manifest.dims, layers: 'two' } }))
  await t.rejects(loadManifest(outDir), {
    code: 'model_invalid',
    message: /manifest\.json is no manifest of a built model \(\/dims\/layers /,
  })
  writeFileSync(join(outDir, 'manifest.json'), '{}')
  await t.rejects(loadManifest(outDir), { code: 'model_invalid', message: /manifest\.json is no manifest/ })
  writeFileSync(join(outDir, 'manifest.json'), JSON.stringify({ ...manifest, builder_version: 0 }))
  await t.rejects(loadManifest(outDir), { code: 'model_invalid', message: /builder version 0/ })
})

await t.test('no changed bit of a manifest is read as another value', async (t) => {
  const outDir = join(temporaryFolder(t), 'model')
  const manifest = await buildModel({ checkpointDir: CHECKPOINT, outDir, dtype: 'f32' })
  const path = join(outDir, 'manifest.json')
  const whole = readFileSync(path)
  let refused = 0
  for (const at of whole.keys()) {
    const bytes = Buffer.from(whole)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 7))
    writeFileSync(path, bytes)
    const found = await loadManifest(outDir).catch((error: Error) => error)
    if (!(found instanceof Error)) t.same({ ...found, ...manifest }, found, `byte ${at}`)
    else if (t.match(found, { code: 'model_invalid', field: path, message: /; build the model again/ })) refused++
  }
  t.ok(refused > 0.6 * whole.length, 'the others are between the values')
  writeFileSync(path, whole.toString().replace('"window": ', '"window": 1'))
  await t.rejects(loadManifest(outDir), {
    message: `${path} is damaged: its values are not those of its SHA-256; build the model again (cepe build)`,
  })
  await t.rejects(verifyGolden(outDir, goldenFiles(CHECKPOINT), 2e-4), { code: 'model_invalid' })
  writeFileSync(path, JSON.stringify({ ...manifest, opset: 20 }))
  t.equal((await loadManifest(outDir)).opset, 20, 'early builds have no digest')
})

await t.test('a damaged file is found before a model is verified', async (t) => {
  const outDir = join(temporaryFolder(t), 'model')
  await buildModel({ checkpointDir: CHECKPOINT, outDir, dtype: 'f32' })
  const data = join(outDir, 'weights.bin')
  const bytes = readFileSync(data)
  bytes[1000] = (bytes[1000] ?? 0) ^ 1
  writeFileSync(data, bytes)
  const found = { code: 'model_invalid', message: /weights\.bin is damaged/ }
  await t.rejects(verifyGolden(outDir, goldenFiles(CHECKPOINT), 2e-4), found)
  await t.rejects(compareBuilds(outDir, outDir, [{ contexts: [], prompt: [1, 2] }]), found)
})

await t.test('an aborted build leaves the older model as it was, and nothing else', async (t) => {
  const folder = temporaryFolder(t)
  const outDir = join(folder, 'model')
  const before = await buildModel({ checkpointDir: CHECKPOINT, outDir, dtype: 'f32' })
  const controller = new AbortController()
  const onProgress = ({ done, total }: { done: number; total: number }): void => {
    if (done > total / 2) controller.abort(new Error('enough'))
  }
  await t.rejects(buildModel({ checkpointDir: CHECKPOINT, outDir, dtype: 'int4', onProgress, signal: controller.signal }), {
    message: 'enough',
  })
  t.same(readdirSync(folder), ['model'])
  t.same(await loadManifest(outDir), before)
  await checkFiles(outDir, before)
})

await t.test('a build replaces the older model, and sweeps what a killed one left', async (t) => {
  const folder = temporaryFolder(t)
  const outDir = join(folder, 'model')
  await buildModel({ checkpointDir: CHECKPOINT, outDir, dtype: 'int4' })
  const [place = ''] = (await processTag()).split('-')
  const left = `${outDir}.partial-${place}-${2 ** 22 + 1}-1.0`
  mkdirSync(left)
  writeFileSync(join(left, 'weights.bin'), 'half')
  const manifest = await buildModel({ checkpointDir: CHECKPOINT, outDir, dtype: 'f32' })
  t.same(readdirSync(folder), ['model'])
  t.equal((await loadManifest(outDir)).dtype, 'f32')
  await checkFiles(outDir, manifest)
})

await t.test('a folder of other files is never replaced', async (t) => {
  const outDir = temporaryFolder(t)
  writeFileSync(join(outDir, 'thesis.txt'), 'precious')
  await t.rejects(buildModel({ checkpointDir: CHECKPOINT, outDir, dtype: 'f32' }), { message: /other than a built model/ })
  t.same(readdirSync(outDir), ['thesis.txt'])
})

await t.test("in place: the checkpoint's own bytes are used, linked into the model", async (t) => {
  const folder = temporaryFolder(t)
  const outDir = join(folder, 'model')
  const checkpointDir = join(folder, 'checkpoint')
  cpSync(CHECKPOINT, checkpointDir, { recursive: true })
  // As a downloader's cache keeps it.
  renameSync(join(checkpointDir, 'model.safetensors'), join(folder, 'blob'))
  symlinkSync(join(folder, 'blob'), join(checkpointDir, 'model.safetensors'))
  const manifest = await buildModel({ checkpointDir, outDir, dtype: 'f32', inPlace: true })
  t.equal(statSync(join(outDir, 'model.safetensors')).ino, statSync(join(checkpointDir, 'model.safetensors')).ino)
  t.ok(statSync(join(outDir, 'weights.bin')).size < 100_000, 'only computed tables are written')
  await checkFiles(outDir, manifest)
  const results = await verifyGolden(outDir, goldenFiles(CHECKPOINT), 2e-4)
  t.ok(results.every(({ ok }) => ok))
})

await t.test('a head size that the kernels do not take is refused at once', async (t) => {
  const folder = temporaryFolder(t)
  const checkpointDir = await writeSyntheticCheckpoint(join(folder, 'checkpoint'), { ...CEPE, num_attention_heads: 8 })
  await t.rejects(buildModel({ checkpointDir, outDir: join(folder, 'model'), dtype: 'f32' }), {
    code: 'unsupported',
    message: /heads are 8 wide.*multiples of 16/,
  })
})

await t.test('an output projection that is stored is used, or the one that it is tied to', async (t) => {
  const dir = temporaryFolder(t)
  const config = { ...LLAMA_CONFIG, hidden_size: 32 }
  const weights = weightsFor(config)
  const tied = { ...config, tie_word_embeddings: true }
  const folder = (name: string, own: object, tensors: typeof weights): string =>
    writeFolder(join(dir, name), { 'config.json': own, 'model.safetensors': f32Safetensors(tensors) })
  const build = (checkpointDir: string) => buildModel({ checkpointDir, outDir: `${checkpointDir}-built`, dtype: 'f32' })
  await t.rejects(build(folder('other', tied, weights)), {
    code: 'checkpoint_invalid',
    field: 'tie_word_embeddings',
    message: /lm_head\.weight is stored and differs from model\.embed_tokens\.weight: set it to false to use lm_head\.weight/,
  })
  const embedding = weights['model.embed_tokens.weight'] ?? { shape: [], values: [] }
  await t.resolves(build(folder('same', tied, { ...weights, 'lm_head.weight': embedding })))
  await t.resolves(build(folder('untied', config, weights)))
})

await t.test('a broken checkpoint is refused and leaves nothing behind', async (t) => {
  const folder = temporaryFolder(t)
  const checkpointDir = await writeSyntheticCheckpoint(join(folder, 'checkpoint'), CEPE, { deviation: Number.NaN })
  const outDir = join(folder, 'model')
  await t.rejects(buildModel({ checkpointDir, outDir, dtype: 'f32' }), { code: 'checkpoint_invalid', message: /NaN or infinite/ })
  await t.rejects(
    buildModel({ checkpointDir, outDir, dtype: 'f32', inPlace: true }),
    { message: /NaN or infinite/ },
    'also where the weights are not copied',
  )
  t.notOk(existsSync(outDir))
  t.same(readdirSync(folder), ['checkpoint'])
})
