/**
 * Matrix products of the graphs, one kernel beside the other: GFLOP/s by number of rows and the error against f32, also
 * where some channels and rows of the input are far larger than the others. Usage: products.ts [threads]
 */
import { Tensor, type InferenceSession } from '../../models/runtime.ts'
import { at } from '../../base/at.ts'
import { quantize } from '../../models/blocks/quantize.ts'
import { fusedMatmul, matMulNBits } from '../../models/onnx/contrib.ts'
import { Graph, type Value } from '../../models/onnx/graph.ts'
import { div, f32, f32s, mul, append, reduceMax, reshape } from '../../models/onnx/ops.ts'
import { encodeModel } from '../../models/onnx/proto.ts'
import { CONTRIB_DOMAIN } from '../../models/onnx/shapes.ts'
import { machine, openSession, table } from '../measure.ts'
import { normal } from '../../test/fixtures/synthetic-checkpoint.ts'

const [K, N] = [2048, 4096]
const threads = Number(process.argv.at(2) ?? 1)
const only = process.argv[3]

const draw = normal(7)
const weights = Float32Array.from({ length: N * K }, () => 0.02 * draw())

const bytes = (values: Float32Array): Uint8Array => new Uint8Array(values.buffer)

const nBits =
  (bits: 4 | 8, blockSize: number) =>
  (graph: Graph, x: Value): Value => {
    const { values, scales, zeroPoints } = quantize(weights, N, K, { bits, blockSize, scaleElem: 'f32' })
    const blocks = K / blockSize
    return matMulNBits(
      x,
      {
        values: graph.constant('u8', [N, blocks, (blockSize * bits) / 8], values),
        scales: graph.constant('f32', [N * blocks], scales),
        zeroPoints: graph.constant('u8', [zeroPoints.length], zeroPoints),
        bits,
        blockSize,
        inSize: K,
        outSize: N,
      },
      null,
    )
  }

/** [K,N] in 8 bits with one scale per output. */
const columns = (): { values: Uint8Array; scales: number[] } => {
  const values = new Int8Array(K * N)
  const scales = Array.from(
    { length: N },
    (_, n) => weights.subarray(n * K, (n + 1) * K).reduce((most, w) => Math.max(most, Math.abs(w)), 0) / 127,
  )
  for (let n = 0; n < N; n++) for (let k = 0; k < K; k++) values[k * N + n] = Math.round((weights[n * K + k] as number) / at(scales, n))
  return { values: new Uint8Array(values.buffer), scales }
}
const int8 = columns()

const dynamic = (graph: Graph, x: Value): Value =>
  append(
    { op: 'DynamicQuantizeMatMul', domain: CONTRIB_DOMAIN },
    [x, graph.constant('i8', [K, N], int8.values), f32s(graph, [N], int8.scales)],
    {
      elem: 'f32',
      shape: ['M', N],
    },
  )

/** Inputs in 8 bits with one scale per row, applied afterwards; `signs` are the signedness of inputs and weights. */
const rows =
  (input: 'i8' | 'u8', weight: 'i8' | 'u8') =>
  (graph: Graph, x: Value): Value => {
    const middle = (elem: 'i8' | 'u8'): Value => graph.constant(elem, [], Uint8Array.of(elem === 'u8' ? 128 : 0))
    const scale = div(reduceMax(append({ op: 'Abs', domain: '' }, [x], x), -1, true), f32(graph, 127))
    const scales = reshape(scale, ['M'])
    const zeroPoints = append(
      { op: 'Expand', domain: '' },
      [middle(input), append({ op: 'Shape', domain: '' }, [scales], { elem: 'i64', shape: [1] })],
      {
        elem: input,
        shape: ['M'],
      },
    )
    const q = append({ op: 'QuantizeLinear', domain: '' }, [x, scales, zeroPoints], { elem: input, shape: ['M', K] }, { axis: 0 })
    const b = graph.constant(weight, [K, N], weight === 'i8' ? int8.values : int8.values.map((value) => value ^ 128))
    return mul(
      append(
        { op: 'MatMulIntegerToFloat', domain: CONTRIB_DOMAIN },
        [q, b, f32(graph, 1), f32s(graph, [N], int8.scales), middle(input), middle(weight)],
        {
          elem: 'f32',
          shape: ['M', N],
        },
      ),
      scale,
    )
  }

const CONTESTANTS: readonly [string, (graph: Graph, x: Value) => Value][] = [
  ['f32', (graph, x) => fusedMatmul(x, graph.constant('f32', [N, K], bytes(weights)), { transB: true })],
  ['4 bits, block 32', nBits(4, 32)],
  ['4 bits, block 128', nBits(4, 128)],
  ['8 bits, block 32', nBits(8, 32)],
  ['8 bits, block 128', nBits(8, 128)],
  ['dynamic', dynamic],
  ['rows s8 s8', rows('i8', 'i8')],
  ['rows u8 s8', rows('u8', 'i8')],
  ['rows u8 u8', rows('u8', 'u8')],
]

const open = (make: (graph: Graph, x: Value) => Value): Promise<InferenceSession> => {
  const graph = new Graph('product')
  graph.output('y', make(graph, graph.input('x', 'f32', ['M', K])))
  return openSession(encodeModel(graph.toProto(() => ({ file: '', offset: 0, bytes: 0 }), 'bench')), threads)
}

const tensor = (M: number, spread: (row: number, column: number) => number): Tensor => {
  const next = normal(3)
  return new Tensor(
    'float32',
    Float32Array.from({ length: M * K }, (_, i) => next() * spread(Math.floor(i / K), i % K)),
    [M, K],
  )
}

const out = async (session: InferenceSession, x: Tensor): Promise<Float32Array> => (await session.run({ x }))['y']?.data as Float32Array

/** Mean over the rows of |a - b| / |b|. */
const error = (a: Float32Array, b: Float32Array, M: number): number => {
  let sum = 0
  for (let m = 0; m < M; m++) {
    let [d, n] = [0, 0]
    for (let i = m * N; i < (m + 1) * N; i++) {
      d += ((a[i] as number) - (b[i] as number)) ** 2
      n += (b[i] as number) ** 2
    }
    sum += Math.sqrt(d / n)
  }
  return sum / M
}

const sessions: { name: string; session: InferenceSession }[] = []
for (const [name, make] of CONTESTANTS)
  if (only === undefined || name === 'f32' || name.includes(only)) sessions.push({ name, session: await open(make) })
console.log(`# Products [M,${K}] x [${K},${N}]\n\n${machine(threads)}\n`)
const gflops = new Map(sessions.map(({ name }) => [name, [] as string[]]))
const ROWS = [1, 16, 128, 512, 2048]
for (const M of ROWS) {
  const x = tensor(M, () => 1)
  const best = new Map<string, number>()
  for (let round = 0; round < 6; round++) {
    for (const { name, session } of sessions) {
      const times = M < 64 ? 20 : 1
      const start = performance.now()
      for (let i = 0; i < times; i++) await session.run({ x })
      best.set(name, Math.min(best.get(name) ?? Infinity, (performance.now() - start) / times))
    }
  }
  for (const [name, time] of best) gflops.get(name)?.push(((2 * M * K * N) / time / 1e6).toFixed(0))
}
const spreads: [string, (row: number, column: number) => number][] = [
  ['plain', () => 1],
  ['outlier channels', (_, column) => (column % 512 === 3 ? 40 : 1)],
  ['outlier rows', (row) => (row === 0 ? 100 : 1)],
  ['both', (row, column) => (row === 0 && column % 512 === 3 ? 1000 : 1)],
]
const errors = new Map(sessions.map(({ name }) => [name, [] as string[]]))
const exact = sessions[0]
for (const [, spread] of spreads) {
  const x = tensor(32, spread)
  if (!exact) break
  const expected = await out(exact.session, x)
  for (const { name, session } of sessions) errors.get(name)?.push(error(await out(session, x), expected, 32).toFixed(4))
}
console.log(
  table(
    ['kernel', ...ROWS.map((M) => `M = ${M}`), ...spreads.map(([name]) => name)],
    sessions.map(({ name }) => [name, ...(gflops.get(name) ?? []), ...(errors.get(name) ?? [])]),
  ),
)
