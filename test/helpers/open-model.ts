import { join } from 'node:path'
import { InferenceSession, Tensor } from '../../models/runtime.ts'
import { loadManifest } from '../../models/folder.ts'
import type { CepeManifest, ModelManifest } from '../../models/manifest.ts'

export type Feeds = Record<string, Tensor>

const SESSION_OPTIONS: InferenceSession.SessionOptions = {
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  extra: { session: { intra_op: { allow_spinning: '0' } } },
}

/** A built model with its sessions. */
interface OpenModel extends AsyncDisposable {
  readonly manifest: ModelManifest
  readonly run: (graph: string, feeds: Feeds) => Promise<Record<string, Tensor>>
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

export function int64(data: BigInt64Array, shape: readonly number[]): Tensor {
  return new Tensor('int64', data, [...shape])
}

export function ones(count: number): BigInt64Array {
  return new BigInt64Array(count).fill(1n)
}

export function argMax(values: Float32Array): number {
  return values.reduce((best, value, i) => (value > (values[best] ?? -Infinity) ? i : best), 0)
}

export function emptyPhi({ dims }: CepeManifest): Tensor {
  return new Tensor('float32', new Float32Array(), [0, dims.encoder_hidden_size])
}

/** Empty keys and values for the step graph, or for another graph's inputs `name`: rows of one batch. */
export function emptyCache({ dims, dtype }: CepeManifest, rows: number, name = 'past_key_values'): Feeds {
  const { layers, kv_heads: kvHeads, head_dim: headDim } = dims
  const half = dtype.startsWith('f16')
  const empty = (): Tensor =>
    new Tensor(half ? 'float16' : 'float32', half ? new Uint16Array() : new Float32Array(), [rows, kvHeads, 0, headDim])
  return Object.fromEntries(
    Array.from({ length: layers }, (_, i) => ['key', 'value'].map((part) => [`${name}.${i}.${part}`, empty()] as const)).flat(),
  )
}
