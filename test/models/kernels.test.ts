import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { InferenceSession, type Tensor } from '../../models/runtime.ts'
import t from 'tap'
import { writeSyntheticCheckpoint } from '../fixtures/synthetic-checkpoint.ts'
import { emptyCache } from '../helpers/open-model.ts'
import { build, CEPE, int64, randomIds, randomPhi, temporaryFolder } from './helpers.ts'

const folder = temporaryFolder(t)
const checkpointDir = await writeSyntheticCheckpoint(join(folder, 'cepe'), CEPE, { seed: 3, deviation: 0.2 })

interface Event {
  readonly cat: string
  readonly name: string
}

/** Names of the kernels that ran, as ONNX Runtime's profile has them after its optimisers. */
async function kernelsOf(file: string, feeds: Readonly<Record<string, Tensor>>): Promise<string[]> {
  const session = await InferenceSession.create(file, {
    intraOpNumThreads: 1,
    enableProfiling: true,
    profileFilePrefix: join(folder, 'profile'),
  })
  await session.run(feeds)
  session.endProfiling()
  await session.release()
  const written = readdirSync(folder).filter((name) => name.startsWith('profile'))
  const events = JSON.parse(readFileSync(join(folder, written.at(-1) ?? ''), 'utf8')) as Event[]
  return events.filter(({ cat, name }) => cat === 'Node' && name.endsWith('_kernel_time')).map(({ name }) => name)
}

for (const dtype of ['f32', 'int8', 'int4'] as const) {
  await t.test(`${dtype}: the query's scale stays out of the products, which keep their fast kernels`, async (t) => {
    const { dir, manifest } = await build(t, { checkpointDir, dtype })
    if (manifest.architecture !== 'cepe') throw new Error('a reader is needed')
    const prompt = randomIds(9, 1)
    const phi = randomPhi(11, 32, 2)
    const generate = await kernelsOf(join(dir, 'cepe_generate.onnx'), {
      input_ids: int64(prompt, [1, 9]),
      phi,
      stop_ids: int64([]),
      max_new_tokens: int64([4], []),
      ...emptyCache(manifest, 1, 'before'),
    })
    const step = await kernelsOf(join(dir, 'cepe_step.onnx'), {
      input_ids: int64([5], [1, 1]),
      attention_mask: int64([1], [1, 1]),
      phi,
      ...emptyCache(manifest, 1),
    })
    for (const [graph, kernels] of [
      ['generate', generate],
      ['step', step],
    ] as const) {
      t.ok(
        kernels.some((name) => /cross_attn\/(then\/)?Mul/.test(name)) && kernels.some((name) => /self_attn\/Mul/.test(name)),
        `${graph}: the scale is a product of its own`,
      )
      t.same(
        kernels.filter((name) => name.includes('ScaleFusion')),
        [],
        graph,
      )
    }
  })
}
