import './no-telemetry.ts'
import { InferenceSession, Tensor, env } from 'onnxruntime-node'

/**
 * ONNX Runtime as used throughout this project: half-precision numbers are Uint16Array bit patterns.
 *
 * From Node 23 on there is a Float16Array, which the runtime uses for f16 tensors; but its binding then reads 0 bytes of it, and every run
 * with such an input fails (microsoft/onnxruntime#32323). It looks for the class once, with the first tensor.
 */
const own = Object.getOwnPropertyDescriptor(globalThis, 'Float16Array')
if (own !== undefined) {
  Reflect.deleteProperty(globalThis, 'Float16Array')
  try {
    new Tensor('bool', [true])
  } finally {
    Object.defineProperty(globalThis, 'Float16Array', own)
  }
}

export { InferenceSession, Tensor, env }
