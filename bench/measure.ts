import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { f32ToF16 } from '../base/binary16.ts'
import { temporaryFolder } from '../base/files.ts'
import { optionValues } from '../eval/run/options.ts'
import { Tensor, env } from '../models/runtime.ts'
import { encodeModel } from '../models/onnx/proto.ts'
import { Graph, type Value } from '../models/onnx/graph.ts'
import { i64s, matmul, slice } from '../models/onnx/ops.ts'
import type { Provider } from '../src/inference/protocol.ts'
import { bytesOf, loadGraph, type GraphOptions } from '../src/inference/worker/runtime/session.ts'

/** Statistics, for all benchmarks. */
export { quantile } from '../eval/statistics/bootstrap.ts'

/** Typed values of a benchmark's command line `--name value`, by the given names and defaults. @throws TypeError for an unknown option */
export function benchOptions(defaults: Readonly<Record<string, string>>) {
  const options = Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, { type: 'string' as const, default: value }]))
  const { values } = parseArgs({ options })
  const typed = optionValues(values as Readonly<Record<string, string>>)
  return { ...typed, text: (name: string): string => typed.text(name) ?? '' }
}

export function machine(threads: number): string {
  const [cpu] = cpus()
  return `${cpus().length} x ${cpu?.model.trim() ?? 'unknown CPU'}, ${(totalmem() / 1e9).toFixed(0)} GB, Node ${process.version}, onnxruntime-node ${env.versions.node ?? env.versions.common}, ${threads} threads`
}

export function printHeading(title: string, threads: number): void {
  console.log(`# ${title}, ${new Date().toISOString().slice(0, 10)}\n\n${machine(threads)}\n`)
}

/** The folder of a measurement, removed at the end of the block. */
export function benchFolder() {
  return temporaryFolder(join(tmpdir(), 'cepe-bench-'))
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

/** Chained products of a device's run, so that transfers over the bus matter little. */
const CHAIN = 16

/** Milliseconds of one product [rows,inner] x [inner,columns] with a constant right side, like weights: f32, on a device f16. */
async function productTime(
  [rows, inner, columns]: readonly [number, number, number],
  times: number,
  options: GraphOptions,
): Promise<number> {
  const isDevice = options.provider.name === 'cuda'
  // A product of ones with this weight is ones again.
  const tensor = (shape: readonly number[], value: number): Tensor => {
    const values = new Float32Array(shape.reduce((size, dim) => size * dim, 1)).fill(value)
    return isDevice ? new Tensor('float16', f32ToF16(values), shape) : new Tensor('float32', values, shape)
  }
  const graph = new Graph('products')
  const elem = isDevice ? 'f16' : 'f32'
  const weight = graph.constant(elem, [inner, columns], bytesOf(tensor([inner, columns], 1 / inner)))
  let y: Value = graph.input('x', elem, [rows, inner])
  for (let i = 0; i < (isDevice ? CHAIN : 1); i++) y = matmul(y, weight)
  graph.output('y', isDevice ? slice(y, 0, { start: i64s(graph, [0]), end: i64s(graph, [1]) }, 1) : y)
  const session = await loadGraph(encodeModel(graph.toProto(() => ({ file: '', offset: 0, bytes: 0 }), 'bench')), options)
  const feeds = { x: tensor([rows, inner], 1) }
  await session.run(feeds)
  const time = await fastest(times, () => session.run(feeds))
  await session.release()
  return time / (isDevice ? CHAIN : 1)
}

export type Limits = Awaited<ReturnType<typeof measureLimits>>

/**
 * Limits of this machine in f32, or of a device in half precision, measured with the same runtime and threads: the speed of a large matrix
 * product, and the read bandwidth of a vector-matrix product.
 */
export async function measureLimits(threads: number, provider: Provider = { name: 'cpu' }) {
  const isDevice = provider.name === 'cuda'
  const [rows, inner, columns] = isDevice ? [4096, 8192, 8192] : [1024, 2048, 4096]
  const compute = await productTime([rows, inner, columns], 8, { threads, provider })
  const stream = await productTime([1, 8192, 8192], 12, { threads, provider })
  return { gflops: (2 * rows * inner * columns) / compute / 1e6, gigabytesPerSecond: (8192 * 8192 * (isDevice ? 2 : 4)) / stream / 1e6 }
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}
