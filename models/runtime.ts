import '../base/no-telemetry.ts'
import { InferenceSession, Tensor, env } from 'onnxruntime-node'

/**
 * ONNX Runtime as all of this project uses it: numbers in half precision are Uint16Array, their bit patterns.
 *
 * From Node 23 on there is a Float16Array, and the runtime takes it for f16 tensors, given or made; but its binding then reads 0 bytes of
 * it, and every run with such an input fails (microsoft/onnxruntime#32323). It looks for the class once, with the first tensor.
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
