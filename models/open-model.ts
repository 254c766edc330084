import { join } from 'node:path'
import { InferenceSession, Tensor } from './runtime.ts'
import { loadManifest } from './folder.ts'
import type { CepeManifest, ContrieverManifest, ModelManifest } from './manifest.ts'

export type Feeds = Record<string, Tensor>

const SESSION_OPTIONS: InferenceSession.SessionOptions = {
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  extra: { session: { intra_op: { allow_spinning: '0' } } },
}

/** A built model with its sessions, for verification. */
interface OpenModel<Manifest extends ModelManifest = ModelManifest> extends AsyncDisposable {
  readonly manifest: Manifest
  readonly run: (graph: string, feeds: Feeds) => Promise<Record<string, Tensor>>
}
export type OpenReader = OpenModel<CepeManifest>
export type OpenRetriever = OpenModel<ContrieverManifest>

export function isReader(model: OpenModel): model is OpenReader {
  return model.manifest.architecture === 'cepe'
}
export function isRetriever(model: OpenModel): model is OpenRetriever {
  return model.manifest.architecture === 'contriever'
}

/** @throws model_invalid for a folder without built model */
export async function openModel(dir: string): Promise<OpenModel> {
  const manifest = await loadManifest(dir)
  const sessions = new Map<string, Promise<InferenceSession>>()
  const open = (graph: string): Promise<InferenceSession> => {
    const session = sessions.get(graph) ?? InferenceSession.create(join(dir, graph), SESSION_OPTIONS)
    sessions.set(graph, session)
    return session
  }
  return {
    manifest,
    run: async (graph, feeds) => {
      const outputs = await (await open(graph)).run(feeds)
      return Object.fromEntries(Object.entries(outputs).flatMap(([name, value]) => (value instanceof Tensor ? [[name, value]] : [])))
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...sessions.values()].map(async (session) => (await session).release()))
    },
  }
}

export function output(outputs: Record<string, Tensor>, name: string): Tensor {
  const tensor = outputs[name]
  if (!tensor) throw new Error(`the graph has no output ${name}. This is a bug`)
  return tensor
}

export function floatsOf(tensor: Tensor): Float32Array {
  if (!(tensor.data instanceof Float32Array)) throw new Error(`f32 expected, ${tensor.type} found. This is a bug`)
  return tensor.data
}

export function idsOf(tensor: Tensor): BigInt64Array {
  if (!(tensor.data instanceof BigInt64Array)) throw new Error(`i64 expected, ${tensor.type} found. This is a bug`)
  return tensor.data
}

export function int64(data: BigInt64Array, shape: readonly number[]): Tensor {
  return new Tensor('int64', data, [...shape])
}

export function ones(count: number): BigInt64Array {
  return new BigInt64Array(count).fill(1n)
}

export function logSoftmax(logits: Float32Array): Float32Array {
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity)
  const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - most), 0)) + most
  return logits.map((logit) => logit - total)
}

export function argMax(values: Float32Array): number {
  return values.reduce((best, value, i) => (value > (values[best] ?? -Infinity) ? i : best), 0)
}

export function emptyPhi({ dims }: CepeManifest): Tensor {
  return new Tensor('float32', new Float32Array(), [0, dims.encoder_hidden_size])
}

/** An empty past for the step graph: rows of one batch. */
export function emptyCache({ dims, dtype }: CepeManifest, rows: number): Feeds {
  const { layers, kv_heads: kvHeads, head_dim: headDim } = dims
  const half = dtype.startsWith('f16')
  const empty = (): Tensor =>
    new Tensor(half ? 'float16' : 'float32', half ? new Uint16Array() : new Float32Array(), [rows, kvHeads, 0, headDim])
  return Object.fromEntries(
    Array.from({ length: layers }, (_, i) => ['key', 'value'].map((part) => [`past_key_values.${i}.${part}`, empty()] as const)).flat(),
  )
}

/**
 * The step graph with its cache, for rows of one batch.
 * @returns a function that feeds ids [rows,L] with their mask and returns logits [rows,L,V]
 */
export function stepDecoder({ manifest, run }: OpenReader, phi: Tensor, rows: number) {
  let masks = Array.from({ length: rows }, () => new BigInt64Array())
  let cache = emptyCache(manifest, rows)
  const { rotary } = manifest
  return async (ids: BigInt64Array, mask: BigInt64Array): Promise<Tensor> => {
    const length = ids.length / rows
    masks = masks.map((old, row) => BigInt64Array.of(...old, ...mask.subarray(row * length, (row + 1) * length)))
    const joined = BigInt64Array.of(...masks.flatMap((row) => [...row]))
    const tokens = BigInt64Array.from(masks, (row) => row.reduce((sum, kept) => sum + kept, 0n))
    const outputs = await run(manifest.graphs.step, {
      input_ids: int64(ids, [rows, length]),
      attention_mask: int64(joined, [rows, joined.length / rows]),
      phi,
      ...(rotary && 'by_length' in rotary && { text_tokens: int64(tokens, [rows]) }),
      ...cache,
    })
    cache = Object.fromEntries(Object.keys(cache).map((name) => [name, output(outputs, name.replace('past_key_values', 'present'))]))
    return output(outputs, 'logits')
  }
}
