import { join } from 'node:path'
import { InferenceSession, Tensor } from './runtime.ts'
import { loadManifest } from './folder.ts'
import type { CepeManifest, ModelManifest } from './manifest.ts'

export type Feeds = Record<string, Tensor>

const SESSION_OPTIONS: InferenceSession.SessionOptions = {
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  extra: { session: { intra_op: { allow_spinning: '0' } } },
}

/** A built model with its sessions, for verification. */
export interface OpenModel {
  readonly manifest: ModelManifest
  run(graph: string, feeds: Feeds): Promise<Record<string, Tensor>>
}

/** @throws model_invalid for a folder without built model */
export async function openModel(dir: string): Promise<OpenModel & { release(): Promise<void> }> {
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
    release: async () => {
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
  const half = dtype === 'f16' || dtype === 'f16-int4'
  const empty = (): Tensor =>
    half
      ? new Tensor('float16', new Uint16Array(), [rows, kvHeads, 0, headDim])
      : new Tensor('float32', new Float32Array(), [rows, kvHeads, 0, headDim])
  return Object.fromEntries(
    Array.from({ length: layers }, (_, i) => ['key', 'value'].map((part) => [`past_key_values.${i}.${part}`, empty()] as const)).flat(),
  )
}

/** The step graph's state between calls: rows of one batch. */
export class StepDecoder {
  readonly #model: OpenModel
  readonly #manifest: CepeManifest
  readonly #phi: Tensor
  readonly #rows: number
  #mask: BigInt64Array[]
  #cache: Feeds

  constructor(model: OpenModel, manifest: CepeManifest, phi: Tensor, rows: number) {
    this.#model = model
    this.#manifest = manifest
    this.#phi = phi
    this.#rows = rows
    this.#mask = Array.from({ length: rows }, () => new BigInt64Array())
    this.#cache = emptyCache(manifest, rows)
  }

  /** Feeds ids [rows,L] with their mask; returns logits [rows,L,V]. */
  async step(ids: BigInt64Array, mask: BigInt64Array): Promise<Tensor> {
    const length = ids.length / this.#rows
    this.#mask = this.#mask.map((old, row) => BigInt64Array.of(...old, ...mask.subarray(row * length, (row + 1) * length)))
    const joined = BigInt64Array.of(...this.#mask.flatMap((row) => [...row]))
    const { rotary } = this.#manifest
    const tokens = BigInt64Array.from(this.#mask, (row) => row.reduce((sum, kept) => sum + kept, 0n))
    const outputs = await this.#model.run(this.#manifest.graphs.step, {
      input_ids: int64(ids, [this.#rows, length]),
      attention_mask: int64(joined, [this.#rows, joined.length / this.#rows]),
      phi: this.#phi,
      ...(rotary && 'by_length' in rotary && { text_tokens: int64(tokens, [this.#rows]) }),
      ...this.#cache,
    })
    this.#cache = Object.fromEntries(
      Object.keys(this.#cache).map((name) => [name, output(outputs, name.replace('past_key_values', 'present'))]),
    )
    return output(outputs, 'logits')
  }
}
