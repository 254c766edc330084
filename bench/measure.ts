import { at } from '../base/at.ts'
import { cpus, totalmem } from 'node:os'
import { InferenceSession, Tensor, env } from '../models/runtime.ts'
import { encodeModel } from '../models/onnx/proto.ts'
import { Graph } from '../models/onnx/graph.ts'
import { matmul } from '../models/onnx/ops.ts'
import { uniform } from '../test/fixtures/synthetic-checkpoint.ts'

export type Feeds = Record<string, Tensor>

export function machine(threads: number): string {
  const [cpu] = cpus()
  return `${cpus().length} x ${cpu?.model.trim() ?? 'unknown CPU'}, ${(totalmem() / 1e9).toFixed(0)} GB, Node ${process.version}, onnxruntime-node ${env.versions.node ?? env.versions.common}, ${threads} threads`
}

export function openSession(model: string | Uint8Array, threads: number): Promise<InferenceSession> {
  const options: InferenceSession.SessionOptions = { intraOpNumThreads: threads, extra: { session: { intra_op: { allow_spinning: '0' } } } }
  return typeof model === 'string' ? InferenceSession.create(model, options) : InferenceSession.create(model, options)
}

/** Milliseconds of the fastest of `times` runs: other load only adds to them. */
export async function fastest(times: number, run: () => Promise<unknown>): Promise<number> {
  let best = Infinity
  for (let i = 0; i < times; i++) {
    const start = performance.now()
    await run()
    best = Math.min(best, performance.now() - start)
  }
  return best
}

/** Uniform numbers in [-1, 1). */
export function randomTensor(shape: readonly number[], seed: number): Tensor {
  const next = uniform(seed)
  return new Tensor(
    'float32',
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => 2 * next() - 1),
    [...shape],
  )
}

export function int64(values: readonly number[], shape: readonly number[]): Tensor {
  return new Tensor('int64', BigInt64Array.from(values, BigInt), [...shape])
}

/** Milliseconds of one f32 product [rows,inner] x [inner,columns] with a constant right side, like weights. */
async function productTime([rows, inner, columns]: readonly [number, number, number], times: number, threads: number): Promise<number> {
  const graph = new Graph('product')
  const x = graph.input('x', 'f32', [rows, inner])
  const weight = randomTensor([inner, columns], 2).data as Float32Array
  graph.output('y', matmul(x, graph.constant('f32', [inner, columns], new Uint8Array(weight.buffer))))
  const session = await openSession(encodeModel(graph.toProto(() => ({ file: '', offset: 0, bytes: 0 }), 'bench')), threads)
  const feeds = { x: randomTensor([rows, inner], 1) }
  await session.run(feeds)
  const time = await fastest(times, () => session.run(feeds))
  await session.release()
  return time
}

export interface Limits {
  /** Speed of a large f32 matrix product. */
  readonly gflops: number
  /** Read bandwidth of a vector-matrix product. */
  readonly gigabytesPerSecond: number
}

/** Limits of this machine, measured with the same runtime and threads. */
export async function measureLimits(threads: number): Promise<Limits> {
  const [rows, inner, columns] = [1024, 2048, 4096]
  const compute = await productTime([rows, inner, columns], 8, threads)
  const stream = await productTime([1, 8192, 8192], 12, threads)
  return { gflops: (2 * rows * inner * columns) / compute / 1e6, gigabytesPerSecond: (8192 * 8192 * 4) / stream / 1e6 }
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

/** Quantile of unsorted values; NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted.length === 0 ? NaN : at(sorted, Math.min(sorted.length - 1, Math.floor(share * sorted.length)))
}
