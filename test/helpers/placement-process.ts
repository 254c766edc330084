/** Makes a session on CUDA with ONNX Runtime's whole log on standard error, which says where each node is placed. Usage: <file.onnx> */
import { env, InferenceSession } from '../../models/runtime.ts'

env.logLevel = 'verbose'
await InferenceSession.create(process.argv[2] ?? '', { executionProviders: [{ name: 'cuda', deviceId: 0 }, 'cpu'], logSeverityLevel: 0 })
