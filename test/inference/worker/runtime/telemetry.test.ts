import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { built, finished, startNode } from '../../../helpers/processes.ts'

const RUNTIME = createRequire(import.meta.url).resolve('onnxruntime-node')
/** y = x, of one number: ir_version 8, opset 13. */
const IDENTITY = '08083a2b0a100a017812017922084964656e746974791201675a090a017812040a02080162090a017912040a02080142040a00100d'

t.test("no session tells the runtime's maker of itself, nor marks the machine", async (t) => {
  for (const file of ['src/inference/worker/runtime/session.js', 'src/inference/worker/tasks/verify.js']) {
    const home = path.join(t.testdir({}), 'home')
    await mkdir(home, { recursive: true })
    const script = path.join(home, '..', 'load.mjs')
    await writeFile(
      script,
      `await import(${JSON.stringify(pathToFileURL(built(file)).href)})
       const { default: { InferenceSession } } = await import(${JSON.stringify(pathToFileURL(RUNTIME).href)})
       const session = await InferenceSession.create(Buffer.from('${IDENTITY}', 'hex'))
       console.log(session.inputNames)
       await session.release()`,
    )
    // Where a CI is seen the runtime is silent by itself.
    const { code, stdout, stderr } = await finished(startNode(script, [], { env: { HOME: home } }))
    t.equal(code, 0, stderr)
    t.match(stdout, 'x')
    t.same(await readdir(home), [], file)
  }
})
