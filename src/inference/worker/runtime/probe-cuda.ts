/** Main module of the process that tests a CUDA device: ends with 0, or prints what is wrong. Usage: probe-cuda.js <device> */
import { messageOf } from '../../../../base/errors.ts'
import { f32ToF16 } from '../../../../base/binary16.ts'
import { multiHeadAttention } from '../../../../models/onnx/contrib.ts'
import { Graph } from '../../../../models/onnx/graph.ts'
import { matmul } from '../../../../models/onnx/ops.ts'
import { encodeModel } from '../../../../models/onnx/proto.ts'
import { Tensor } from '../../../../models/runtime.ts'
import { loadGraph } from './session.ts'

const [TOKENS, HEADS, WIDTH] = [2, 2, 128]
/** f16: 1. */
const ONE = 0x3c00

/** Attention over equal rows, which needs cuDNN and gives the row, times a matrix of 1/WIDTH, which needs cuBLAS: ones stay ones. */
function probeModel(): Uint8Array {
  const graph = new Graph('probe')
  const x = graph.input('x', 'f16', [1, TOKENS, WIDTH])
  const weights = f32ToF16(new Float32Array(WIDTH * WIDTH).fill(1 / WIDTH))
  const weight = graph.constant('f16', [WIDTH, WIDTH], new Uint8Array(weights.buffer))
  graph.output('y', matmul(multiHeadAttention({ q: x, k: x, v: x }, HEADS, null), weight))
  return encodeModel(graph.toProto(() => ({ file: '', offset: 0, bytes: 0 }), 'cepe'))
}

const deviceId = Number(process.argv[2])
try {
  const graph = await loadGraph(probeModel(), { threads: 1, provider: { name: 'cuda', deviceId }, verbose: true })
  const ones = new Uint16Array(TOKENS * WIDTH).fill(ONE)
  const { y } = await graph.run({ x: new Tensor('float16', ones, [1, TOKENS, WIDTH]) })
  if (!(y?.data instanceof Uint16Array && y.data.every((value) => value === ONE))) throw new Error('it computes wrong numbers')
} catch (error) {
  process.stdout.write(messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error))
  process.exitCode = 1
}
