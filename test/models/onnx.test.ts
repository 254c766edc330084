import { InferenceSession, Tensor } from '../../models/runtime.ts'
import t, { type Test } from 'tap'
import { present } from '../../base/at.ts'
import { fusedMatmul, rotaryEmbedding } from '../../models/onnx/contrib.ts'
import { ifElse, loop } from '../../models/onnx/control.ts'
import { Graph, type Value } from '../../models/onnx/graph.ts'
import {
  add,
  compress,
  concat,
  equal,
  f32,
  f32s,
  gather,
  i64,
  less,
  matmul,
  mul,
  reduceSum,
  reshape,
  softmax,
  transpose,
} from '../../models/onnx/ops.ts'
import { decodeModel, encodeModel } from '../../models/onnx/proto.ts'
import { GraphError } from '../../models/onnx/shapes.ts'

function noWeights(): never {
  throw new Error('no weights here')
}

function serialise(graph: Graph): Uint8Array {
  return encodeModel(graph.toProto(noWeights, 'test'))
}

async function run(t: Test, graph: Graph, feeds: Record<string, Tensor>): Promise<InferenceSession.OnnxValueMapType> {
  const session = await InferenceSession.create(serialise(graph), { intraOpNumThreads: 1 })
  t.teardown(() => session.release())
  return session.run(feeds)
}

await t.test('mistakes are found where they are made', (t) => {
  const graph = new Graph('g')
  const x = graph.input('x', 'f32', ['n', 4])
  const ids = graph.input('ids', 'i64', ['n'])
  const mistakes: [string, () => Value, RegExp][] = [
    ['inner sizes', () => matmul(x, x), /MatMul: \[n,4\] x \[n,4\]: inner sizes 4 and n differ/],
    ['broadcast', () => add(x, f32s(graph, [3], [1, 2, 3])), /Add: sizes 4 and 3 do not broadcast/],
    ['types', () => add(x, i64(graph, 1)), /Add: i64 given, f32 expected/],
    ['float indices', () => gather(x, x), /Gather: f32 given, i64 expected/],
    ['a mask of numbers', () => compress(x, ids, 'k'), /Compress: i64 given, bool expected/],
    ['softmax of ids', () => softmax(ids), /Softmax: i64 given/],
    ['an ambiguous reshape', () => reshape(x, ['a', 'b']), /ambiguous/],
    ['an unnamed sum', () => concat([x, x], 0), /name the size of n \+ n/],
    ['an axis too many', () => transpose(x, [0, 2]), /no axis 2/],
    ['rank', () => rotaryEmbedding(x, ids, { cos: x, sin: x }, 2), /RotaryEmbedding: rank 3 expected/],
    ['another graph', () => add(x, f32(new Graph('other'), 1)), /another graph/],
  ]
  for (const [name, write, message] of mistakes) t.throws(write, { name: 'GraphError', message }, name)
  t.throws(() => graph.output('y', x), GraphError, 'an input is no output')
  t.throws(() => serialise(new Graph('empty')), { message: /no outputs/ })
  t.end()
})

await t.test('nodes are named by their path, once', (t) => {
  const graph = new Graph('g')
  const x = graph.input('x', 'f32', [2, 2])
  const y = graph.scope('layers.0', () => graph.scope('mlp', () => mul(mul(x, x), x)))
  graph.output('y', y)
  const proto = decodeModel(serialise(graph))
  t.same(
    proto.graph.node.map(({ name }) => name),
    ['/layers.0/mlp/Mul', '/layers.0/mlp/Mul_1'],
  )
  t.same(
    proto.graph.output.map(({ name }) => name),
    ['y'],
  )
  t.same(proto.opset_import, [
    { domain: '', version: 21 },
    { domain: 'com.microsoft', version: 1 },
  ])
  t.end()
})

await t.test('If takes one branch, and both see outer values', async (t) => {
  const graph = new Graph('g')
  const x = graph.input('x', 'f32', ['n'])
  const big = less(f32(graph, 10), reduceSum(x, 0))
  const [y] = ifElse(
    big,
    () => [mul(x, f32(graph, 2))],
    () => [x],
  )
  if (!y) throw new Error('no result')
  graph.output('y', y)
  for (const [given, expected] of [
    [
      [5, 6],
      [10, 12],
    ],
    [
      [1, 2],
      [1, 2],
    ],
  ] as const) {
    const { y: out } = await run(t, graph, { x: new Tensor('float32', Float32Array.from(given), [2]) })
    t.same([...((out as Tensor).data as Float32Array)], expected)
  }
  t.throws(
    () =>
      ifElse(
        big,
        () => [mul(x, x)],
        () => [big],
      ),
    { message: /differs between the branches/ },
  )
})

await t.test('Loop carries, collects and stops; no round at all is fine', async (t) => {
  const graph = new Graph('g')
  const rounds = graph.input('rounds', 'i64', [])
  const stop = graph.input('stop', 'f32', [])
  const yes = graph.constant('bool', [], Uint8Array.of(1))
  const start = { maxRounds: rounds, proceed: yes, carried: [{ name: 'x', initial: f32(graph, 1) }], rounds: 'n' }
  const { carried, scans } = loop(start, ([x]) => {
    if (!x) throw new Error('nothing carried')
    const next = mul(x, f32(graph, 2))
    return { proceed: less(next, stop), carried: [next], scans: [next] }
  })
  graph.output('doubled', present(scans[0]))
  graph.output('last', present(carried[0]))
  for (const [most, limit, expected] of [
    [10, 7, [2, 4, 8]],
    [2, 100, [2, 4]],
    [0, 100, []],
  ] as const) {
    const out = await run(t, graph, {
      rounds: new Tensor('int64', BigInt64Array.of(BigInt(most)), []),
      stop: new Tensor('float32', Float32Array.of(limit), []),
    })
    t.same([...((out['doubled'] as Tensor).data as Float32Array)], expected)
    t.same([...((out['last'] as Tensor).data as Float32Array)], [expected.at(-1) ?? 1])
  }
})

await t.test('FusedMatMul takes weights as [out,in]', async (t) => {
  const graph = new Graph('g')
  const x = graph.input('x', 'f32', [1, 2])
  graph.output('y', fusedMatmul(x, f32s(graph, [3, 2], [1, 2, 3, 4, 5, 6]), { transB: true }))
  graph.output('same', equal(x, x))
  const { y } = await run(t, graph, { x: new Tensor('float32', Float32Array.of(1, 10), [1, 2]) })
  t.same([...((y as Tensor).data as Float32Array)], [21, 43, 65])
})
