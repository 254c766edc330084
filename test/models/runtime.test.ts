import t from 'tap'
import { startNode, finished } from '../helpers/processes.ts'
import { castModel } from '../../models/graphs/cast.ts'
import { InferenceSession, Tensor } from '../../models/runtime.ts'

await t.test('numbers in half precision go into a graph and come out as bit patterns', async (t) => {
  const narrow = await InferenceSession.create(castModel('f32', 'f16'))
  const widen = await InferenceSession.create(castModel('f16', 'f32'))
  const { y: half } = await narrow.run({ x: new Tensor('float32', Float32Array.of(1, -2.5, 65504), [3]) })
  t.same(half?.data, Uint16Array.of(0x3c00, 0xc100, 0x7bff))
  const { y: float } = await widen.run({ x: new Tensor('float16', Uint16Array.of(0x3c00, 0xc100, 0x7bff), [3]) })
  t.same(float?.data, Float32Array.of(1, -2.5, 65504))
})

await t.test('also where the language has a class of its own for them, which stays what it is', async (t) => {
  const child = startNode('--input-type=module', [
    '--eval',
    `const Own = globalThis.Float16Array ?? class Float16Array extends Uint16Array {}
     Object.defineProperty(globalThis, 'Float16Array', { value: Own, writable: true, configurable: true })
     const { Tensor } = await import(${JSON.stringify(new URL('../../models/runtime.js', import.meta.url).href)})
     const { data } = new Tensor('float16', new Uint16Array(2), [2])
     console.log(data.constructor.name, globalThis.Float16Array === Own)`,
  ])
  t.match(await finished(child), { code: 0, stdout: 'Uint16Array true\n' })
})
