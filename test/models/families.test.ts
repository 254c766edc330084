import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { compareBuilds } from '../../src/inference/worker/tasks/verify.ts'
import { openCheckpoint } from '../../models/open-checkpoint.ts'
import { readF32 } from '../../models/checkpoint/weights.ts'
import { DTYPES } from '../../models/dtypes.ts'
import { openTokenizer } from '../../models/tokenizer/codec.ts'
import { tokenizerFiles } from '../../models/tokenizer/files.ts'
import { withoutVnniOf } from '../helpers/vnni.ts'
import {
  build,
  floats,
  greedyBySteps,
  int64,
  largestDifference,
  logitsAt,
  numbers,
  randomPhi,
  stepper,
  temporaryFolder,
} from './helpers.ts'

/** Random models of each decoder family and what transformers makes of them (test/fixtures/decoders/make.py). */
const ROOT = 'test/fixtures/decoders'
const FAMILIES = ['qwen2', 'qwen3', 'gemma2', 'gemma3']
/** Its scores' scale is not the one that a GGUF file of its size stands for. */
const SCALED = 'gemma2'

interface Golden {
  readonly tokens: readonly (readonly [text: string, ids: readonly number[]])[]
  readonly prompt: readonly number[]
  /** At the first token, the one in the middle, and the last. */
  readonly logits: readonly (readonly number[])[]
  readonly generated: readonly number[]
  /** Of what is generated. */
  readonly logprobs: readonly number[]
}

function goldenOf(family: string): Golden {
  return JSON.parse(readFileSync(join(ROOT, family, 'golden.json'), 'utf8')) as Golden
}

const NO_PHI = randomPhi(0, 0, 0)

for (const family of FAMILIES) {
  const { tokens, prompt, logits, generated, logprobs } = goldenOf(family)
  for (const source of [join(ROOT, family), ...(family === SCALED ? [] : [join(ROOT, family, 'model.gguf')])]) {
    await t.test(`${source}: tokens, logits and generation are those of transformers`, async (t) => {
      const { dir, manifest, graph } = await build(t, { checkpointDir: source, dtype: 'f32' })
      const tokenizer = openTokenizer(await tokenizerFiles(dir))
      for (const [text, ids] of tokens) t.same(tokenizer.encode(text).ids, ids, JSON.stringify(text))

      const step = await graph('cepe_step')
      const whole = await stepper(step, manifest, NO_PHI)([[...prompt]])
      const places = [0, prompt.length >> 1, prompt.length - 1]
      for (const [i, row] of logits.entries()) {
        const difference = largestDifference(Float32Array.from(row), logitsAt(whole, 0, places[i] ?? 0))
        t.ok(difference < 1e-3, `logits at ${places[i]}: ${difference}`)
      }
      t.same(await greedyBySteps(stepper(step, manifest, NO_PHI), prompt, [], generated.length), generated, 'from cached keys')

      const outputs = await (
        await graph('cepe_generate')
      )({
        input_ids: int64(prompt, [1, prompt.length]),
        phi: NO_PHI,
        stop_ids: int64([]),
        max_new_tokens: int64([generated.length], []),
      })
      t.same(numbers(outputs['tokens']), generated, 'the generate graph')
      t.ok(largestDifference(Float32Array.from(logprobs), floats(outputs['logprobs'])) < 1e-3, 'its log-probabilities')
    })
  }

  await t.test(`${family}: a GGUF file holds the weights of the folder`, async (t) => {
    const folder = await openCheckpoint(join(ROOT, family))
    const file = await openCheckpoint(join(ROOT, family, 'model.gguf'))
    t.same([...file.tensors.keys()].sort(), [...folder.tensors.keys()].sort())
    for (const name of folder.tensors.keys()) t.same(await readF32(file, name), await readF32(folder, name), name)
  })

  await t.test(`${family}: every dtype builds, generates and stays near f32`, async (t) => {
    const dir = temporaryFolder(t)
    for (const dtype of DTYPES) {
      const built = await build(t, { checkpointDir: join(ROOT, family), dtype, outDir: join(dir, dtype) })
      const outputs = await (
        await built.graph('cepe_generate')
      )({ input_ids: int64(prompt, [1, prompt.length]), phi: NO_PHI, stop_ids: int64([]), max_new_tokens: int64([4], []) })
      t.equal(numbers(outputs['tokens']).length, 4, dtype)
      const distance = await compareBuilds(built.dir, join(dir, 'f32'), [{ contexts: [], prompt }])
      if (distance.kind !== 'reader') throw new Error('a reader was built')
      // 4 bits are coarse for matrices this small.
      const most = dtype.endsWith('int4') && dtype !== 'int8+int4' ? 0.5 : 0.02
      t.ok(distance.meanKl < most, `${dtype}: ${distance.meanKl}`, { skip: withoutVnniOf(dtype) })
    }
  })
}
