/**
 * The encode stage of a question of k passages: encoded, read from the disk, taken from memory; with states in f16 and f32.
 * The shipped reader over its corpus, and random weights with CEPE's encoder width. Usage: states.js [k] [encoder layers]
 */
import path from 'node:path'
import { buildModel } from '../../models/build.ts'
import { packageRoot } from '../../src/package.ts'
import type { EncoderInput } from '../../src/inference/contract.ts'
import { loadCepeManifest } from '../../models/folder.ts'
import { encodeContexts, type ContextEncoder } from '../../src/inference/worker/encoder/encode-contexts.ts'
import { loadGraph } from '../../src/inference/worker/runtime/session.ts'
import { createStateCache, createStateCodec } from '../../src/inference/worker/encoder/state-cache.ts'
import { createStateStore } from '../../src/inference/worker/encoder/state-store.ts'
import { renderPassage } from '../../src/text/prompt.ts'
import { loadTokenizer } from '../../src/text/tokenizer.ts'
import { benchFolder, fastest, printHeading, table } from '../measure.ts'
import { corpusPassages } from './stages.ts'
import { shapeConfig } from './whole-shape.ts'
import { uniform, writeSyntheticCheckpoint } from '../../test/fixtures/synthetic-checkpoint.ts'

const PASSAGE_TOKENS = 120
const BATCH_TOKENS = 1024
const LIMIT = 2 ** 34

const k = Number(process.argv.at(2) ?? 40)
const layers = Number(process.argv.at(3) ?? 24)

async function measured(folder: string, modelDir: string, input: EncoderInput, dtype: 'f16' | 'f32'): Promise<string[]> {
  const manifest = await loadCepeManifest(modelDir)
  const graph = await loadGraph(path.join(modelDir, manifest.graphs.encoder ?? ''), { threads: 1, provider: { name: 'cpu' } })
  // The synthetic model has no tokenizer and is asked by ids.
  const tokenizer = await loadTokenizer(path.join(packageRoot(), 'models/built/cepe-f32'))
  const store = await createStateStore({ dir: folder, manifest, dtype, maxBytes: LIMIT, log: console.error })
  const encoder = { graph, tokenizer, manifest, codec: await createStateCodec(dtype), batchTokens: BATCH_TOKENS }
  const cold: ContextEncoder = { ...encoder, cache: createStateCache(0), store: null }
  const stored: ContextEncoder = { ...cold, store }
  const held: ContextEncoder = { ...cold, cache: createStateCache(LIMIT) }
  const { phi } = await encodeContexts(stored, input)
  await store.settled()
  await encodeContexts(held, input)
  const encoded = await fastest(2, () => encodeContexts(cold, input))
  const [disk, memory] = [await fastest(5, () => encodeContexts(stored, input)), await fastest(5, () => encodeContexts(held, input))]
  await graph.release()
  const [rows = 0, width = 0] = phi.dims
  const bytes = (rows * width * (dtype === 'f16' ? 2 : 4)) / k
  return [
    dtype,
    String(rows),
    ...[encoded, disk, memory].map((ms) => ms.toFixed(1)),
    `${(encoded / disk).toFixed(1)}x`,
    `${(bytes / 1024).toFixed(0)} KiB`,
  ]
}

await using folder = await benchFolder()
printHeading(`Encoder states, k = ${k}`, 1)
const shipped = path.join(packageRoot(), 'models/built/cepe-f32')
const config = shapeConfig('1.1b', { layers: 1, encoderLayers: layers })
const checkpointDir = await writeSyntheticCheckpoint(path.join(folder.path, 'checkpoint'), config)
const wide = path.join(folder.path, 'wide')
await buildModel({ checkpointDir, outDir: wide, dtype: 'f32', inPlace: true })
const next = uniform(1)
const ids = Array.from({ length: k }, () => Array.from({ length: PASSAGE_TOKENS }, () => 3 + Math.floor(next() * 31_000)))
const shapes: [string, string, EncoderInput][] = [
  ['shipped reader (d_enc 256, 3 layers)', shipped, { contexts: (await corpusPassages(k)).map(renderPassage), contextTokens: 256 }],
  [`d_enc 1024, ${layers} layers`, wide, { contexts: [], contextIds: ids, contextTokens: 256 }],
]
const rows: string[][] = []
for (const [name, modelDir, input] of shapes) {
  for (const dtype of ['f32', 'f16'] as const)
    rows.push([name, ...(await measured(path.join(folder.path, 'states'), modelDir, input, dtype))])
}
console.log(table(['reader', 'states', 'context rows', 'encoded, ms', 'disk, ms', 'memory, ms', 'encoded against disk', 'a passage'], rows))
