import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Tensor } from '../../models/runtime.ts'
import type { Test } from 'tap'
import { buildModel, type BuildOptions } from '../../models/build.ts'
import type { ModelManifest } from '../../models/manifest.ts'
import { type Feeds, loadGraph } from '../../src/inference/worker/runtime/session.ts'
import { normal, uniform } from '../fixtures/synthetic-checkpoint.ts'

/** A folder that is removed when the test ends. */
export function temporaryFolder(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'cepe-models-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Outputs of the recipe's model (models/tiny/recipe/make_fixtures.py). */
export const FIXTURES = 'test/fixtures/recipe'
/** Outputs of the published PyTorch implementation. */
const REFERENCE = 'test/fixtures/reference'

/** Checkpoint folders with golden files. */
export function goldenCheckpoints(): readonly string[] {
  return [FIXTURES, REFERENCE].flatMap((root) => readdirSync(root).map((name) => join(root, name)))
}

export function goldenFiles(dir: string): readonly string[] {
  return readdirSync(dir)
    .filter((name) => name.startsWith('golden-'))
    .map((name) => join(dir, name))
}

const STACK = {
  hidden_act: 'silu',
  num_hidden_layers: 2,
  num_attention_heads: 4,
  max_position_embeddings: 256,
  rms_norm_eps: 1e-5,
  bos_token_id: 1,
  eos_token_id: 2,
  pad_token_id: 0,
}

/** A CEPE of random weights: GQA, cross-attention in the last of two layers, MLP width no multiple of 32. */
export const CEPE = {
  ...STACK,
  architectures: ['LlamaForCausalContextLM'],
  vocab_size: 50,
  hidden_size: 64,
  intermediate_size: 80,
  num_key_value_heads: 2,
  do_cross_attention: true,
  num_cross_attn_layers: 1,
  num_cross_attn_hidden_states: 1,
  encode_mode: 'context_only',
  encoder_hidden_size: 32,
  encoder_config: {
    ...STACK,
    architectures: ['LlamaForMLM'],
    vocab_size: 51,
    hidden_size: 32,
    intermediate_size: 48,
    num_attention_heads: 2,
  },
}

/** A LLaMA without encoder. */
export const LLAMA = { ...STACK, architectures: ['LlamaForCausalLM'], vocab_size: 50, hidden_size: 64, intermediate_size: 80 }

export function int64(values: readonly number[], shape: readonly number[] = [values.length]): Tensor {
  return new Tensor('int64', BigInt64Array.from(values, BigInt), [...shape])
}

export function randomIds(count: number, seed: number, vocabulary = 50): number[] {
  const next = uniform(seed)
  return Array.from({ length: count }, () => 3 + Math.floor(next() * (vocabulary - 3)))
}

export function randomPhi(rows: number, width: number, seed: number): Tensor {
  const draw = normal(seed)
  return new Tensor('float32', Float32Array.from({ length: rows * width }, draw), [rows, width])
}

export function floats(tensor: Tensor | undefined): Float32Array {
  if (!(tensor?.data instanceof Float32Array)) throw new Error(`f32 expected, ${tensor?.type ?? 'nothing'} found`)
  return tensor.data
}

export function numbers(tensor: Tensor | undefined): number[] {
  if (!(tensor?.data instanceof BigInt64Array)) throw new Error(`i64 expected, ${tensor?.type ?? 'nothing'} found`)
  return Array.from(tensor.data, Number)
}

export function largestDifference(a: Float32Array, b: Float32Array): number {
  return a.length === b.length ? a.reduce((most, value, i) => Math.max(most, Math.abs(value - (b[i] ?? Number.NaN))), 0) : Number.NaN
}

export type Run = (feeds: Feeds) => Promise<Feeds>

async function openGraph(t: Test, file: string): Promise<Run> {
  const graph = await loadGraph(file, { threads: 1, provider: { name: 'cpu' } })
  t.teardown(() => graph.release())
  return (feeds) => graph.run(feeds)
}

/** A built model's graphs, opened when first used. */
export async function build(
  t: Test,
  options: Omit<BuildOptions, 'outDir'> & { readonly outDir?: string },
): Promise<{ dir: string; manifest: ModelManifest; graph: (name: string) => Promise<Run> }> {
  const dir = options.outDir ?? join(temporaryFolder(t), 'built')
  const manifest = await buildModel({ ...options, outDir: dir })
  return { dir, manifest, graph: (name) => openGraph(t, join(dir, `${name}.onnx`)) }
}

/** The step graph with its cache: rows of one batch, phi shared. */
export function stepper(
  run: Run,
  manifest: ModelManifest,
  phi: Tensor,
  rows = 1,
): (ids: readonly number[][], masks?: readonly number[][]) => Promise<Tensor> {
  if (manifest.architecture !== 'cepe') throw new Error('a reader is needed')
  const { layers, kv_heads: kvHeads, head_dim: headDim } = manifest.dims
  const half = manifest.dtype.startsWith('f16')
  const empty = (): Tensor =>
    new Tensor(half ? 'float16' : 'float32', half ? new Uint16Array() : new Float32Array(), [rows, kvHeads, 0, headDim])
  let cache = Object.fromEntries(
    Array.from({ length: layers }, (_, i) => ['key', 'value'].map((part) => [`past_key_values.${i}.${part}`, empty()] as const)).flat(),
  )
  let seen: number[][] = Array.from({ length: rows }, () => [])
  return async (ids, masks = ids.map((row) => row.map(() => 1))) => {
    seen = seen.map((row, i) => [...row, ...(masks[i] ?? [])])
    const outputs = await run({
      input_ids: int64(ids.flat(), [rows, ids[0]?.length ?? 0]),
      attention_mask: int64(seen.flat(), [rows, seen[0]?.length ?? 0]),
      phi,
      ...cache,
    })
    cache = Object.fromEntries(
      Object.keys(cache)
        .map((name) => [name, outputs[name.replace('past_key_values', 'present')]] as const)
        .flatMap(([name, value]) => (value ? [[name, value]] : [])),
    )
    const { logits } = outputs
    if (!logits) throw new Error('no logits')
    return logits
  }
}

/** Logits of one position of one row. */
export function logitsAt(logits: Tensor, row: number, position: number): Float32Array {
  const [, length = 0, vocabulary = 0] = logits.dims
  const from = (row * length + position) * vocabulary
  return floats(logits).slice(from, from + vocabulary)
}

/** Greedy tokens through the step graph. */
export async function greedyBySteps(
  step: ReturnType<typeof stepper>,
  prompt: readonly number[],
  stops: readonly number[],
  most: number,
): Promise<number[]> {
  let logits = await step([[...prompt]])
  const tokens: number[] = []
  for (;;) {
    const row = logitsAt(logits, 0, (logits.dims[1] ?? 0) - 1)
    const best = row.reduce((top, value, i) => (value > (row[top] ?? -Infinity) ? i : top), 0)
    tokens.push(best)
    if (tokens.length >= most || stops.includes(best)) return tokens
    logits = await step([[best]])
  }
}
