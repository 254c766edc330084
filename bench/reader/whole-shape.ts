import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from 'typebox'
import { present } from '../../base/at.ts'
import { buildModel } from '../../models/build.ts'
import { openCheckpoint } from '../../models/open-checkpoint.ts'
import { exists } from '../../base/exists.ts'
import { MANIFEST_FILE, type Dtype } from '../../models/manifest.ts'
import { createProgress } from '../../src/cli/program/progress.ts'
import { packageRoot } from '../../src/package.ts'
import { megabytes } from '../../src/service/follow-job.ts'
import { readShipped } from '../../eval/datasets/shipped.ts'
import { parametersOf, requireFree, writeTorchShards } from '../../test/fixtures/torch-shards.ts'

const Config = Type.Record(Type.String(), Type.Unknown())
const Sides = { decoder: Config, encoder: Type.Optional(Config) }
const Shape = Type.Object({ layers: Type.Integer(), encoder_layers: Type.Integer(), ...Sides })
const { decoder, encoder, shapes } = readShipped(
  'bench/reader/shapes.json',
  Type.Object({ ...Sides, shapes: Type.Record(Type.String(), Shape) }),
)
export const SHAPE_NAMES = Object.keys(shapes)

/** The config.json of a published model's shape, in its own depth or another. @param name TinyLlama-1.1B has a key-value head per head */
export function shapeConfig(name: string, depth: { readonly layers?: number; readonly encoderLayers?: number } = {}): object {
  const shape = present(shapes[name])
  const { layers = shape.layers, encoderLayers = shape.encoder_layers } = depth
  return {
    ...decoder,
    ...shape.decoder,
    num_hidden_layers: layers,
    num_cross_attn_layers: layers,
    encoder_config: { ...encoder, ...shape.encoder, num_hidden_layers: encoderLayers },
  }
}

/** Bytes per weight: on disk at most, and read for each token (4 bits with one f32 scale per 128). */
export const WEIGHT_BYTES: Readonly<Record<Dtype, { readonly disk: number; readonly token: number }>> = {
  f32: { disk: 4, token: 4 },
  f16: { disk: 2, token: 2 },
  int8: { disk: 1.15, token: 1 },
  'int8-blocks': { disk: 1.2, token: 1.1 },
  'int8+int4': { disk: 1.7, token: 0.53 },
  int4: { disk: 0.85, token: 0.53 },
  'f16-int4': { disk: 0.85, token: 0.53 },
}
const CHECKPOINT_BYTES = 2
const SHARDS = 4
/** The checkpoint is complete with it. */
const LAST_FILE = 'tokenizer_config.json'
/** Graphs, tokenizer, encoder states. */
const BESIDE_BYTES = 2 ** 30

/**
 * Writes a random checkpoint of a published shape with the shipped tokenizer, so that it can be served, unless it is there.
 * @throws disk_full before anything is written, if it and its largest build do not fit
 */
export async function makeShape(folder: string, shape: string, dtypes: readonly Dtype[]) {
  const content = shapeConfig(shape)
  const largest = Math.max(...dtypes.map((dtype) => WEIGHT_BYTES[dtype].disk))
  const dir = join(folder, 'checkpoint')
  const isThere = await exists(join(dir, LAST_FILE))
  if (!isThere) await requireFree(folder, parametersOf(content) * (CHECKPOINT_BYTES + largest) + (shape === 'small' ? 0 : BESIDE_BYTES))
  const since = performance.now()
  const bytes = isThere ? 0 : await writeTorchShards(dir, content, SHARDS)
  for (const file of ['tokenizer.json', LAST_FILE])
    await copyFile(join(packageRoot(), 'models/tiny/checkpoint/cepe', file), join(dir, file))
  const checkpoint = await openCheckpoint(dir)
  const { config } = checkpoint
  if (config.architecture !== 'cepe' || config.encoder === null) throw new Error('This is a bug: the shape is no reader.')
  return { dir, config: { ...config, encoder: config.encoder }, bytes, seconds: (performance.now() - since) / 1000 }
}

/** Builds one dtype, unless it is there, and reports its cost. */
export async function buildShape({ dir }: { readonly dir: string }, outDir: string, dtype: Dtype): Promise<string> {
  if (await exists(join(outDir, MANIFEST_FILE))) return 'Built before.'
  const progress = createProgress(`Building ${dtype}`, 'MB')
  const [since, cpu] = [performance.now(), process.cpuUsage()]
  const onProgress = ({ done, total }: { done: number; total: number }) => progress.update(megabytes(done), megabytes(total))
  await buildModel({ checkpointDir: dir, outDir, dtype, onProgress }).finally(() => progress.stop())
  const { user, system } = process.cpuUsage(cpu)
  return `Built in ${((performance.now() - since) / 1000).toFixed(1)} s (${((user + system) / 1e6).toFixed(1)} s of processor time).`
}
