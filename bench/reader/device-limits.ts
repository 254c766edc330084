import { f32ToF16 } from '../../base/binary16.ts'
import { Graph, type Value } from '../../models/onnx/graph.ts'
import { i64s, matmul, slice } from '../../models/onnx/ops.ts'
import { encodeModel } from '../../models/onnx/proto.ts'
import type { Provider } from '../../src/inference/protocol.ts'
import { loadGraph } from '../../src/inference/worker/runtime/session.ts'
import { Tensor } from '../../models/runtime.ts'
import { fastest, type Limits } from '../measure.ts'
import { normal } from '../../test/fixtures/synthetic-checkpoint.ts'

/** Chained products per run, so that transfers over the bus matter little. */
const CHAIN = 16
const WIDTH = 8192
const ROWS = 4096
const REPEATS = 8

/** Milliseconds of one product [rows,width] x [width,width] in half precision on the device. */
async function productTime(rows: number, provider: Provider): Promise<number> {
  const graph = new Graph('products')
  const x = graph.input('x', 'f16', [rows, WIDTH])
  const draw = normal(1)
  const row = Float32Array.from({ length: WIDTH }, () => draw() / Math.sqrt(WIDTH))
  const weights = new Uint16Array(WIDTH * WIDTH)
  // Each row is the previous one rotated: the values do not matter, but must stay small.
  const halves = f32ToF16(row)
  for (let i = 0; i < WIDTH; i++) weights.set([...halves.subarray(i), ...halves.subarray(0, i)], i * WIDTH)
  const weight = graph.constant('f16', [WIDTH, WIDTH], new Uint8Array(weights.buffer))
  let y: Value = x
  for (let i = 0; i < CHAIN; i++) y = matmul(y, weight)
  graph.output('y', slice(y, 0, { start: i64s(graph, [0]), end: i64s(graph, [1]) }, 1))
  const model = encodeModel(graph.toProto(() => ({ file: '', offset: 0, bytes: 0 }), 'bench'))
  const session = await loadGraph(model, { threads: 1, provider })
  const feeds = { x: new Tensor('float16', f32ToF16(new Float32Array(rows * WIDTH).fill(0.01)), [rows, WIDTH]) }
  await session.run(feeds)
  const time = await fastest(REPEATS, () => session.run(feeds))
  await session.release()
  return time / CHAIN
}

/** Half-precision limits of a device, measured with the same runtime: a large product, and one with a single row. */
export async function measureDevice(provider: Provider): Promise<Limits> {
  const [large, single] = [await productTime(ROWS, provider), await productTime(1, provider)]
  return { gflops: (2 * ROWS * WIDTH * WIDTH) / large / 1e6, gigabytesPerSecond: (WIDTH * WIDTH * 2) / single / 1e6 }
}
