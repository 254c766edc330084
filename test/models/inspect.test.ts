import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { formatDescription, inspectModel } from '../../models/inspect.ts'
import { build, FIXTURES } from './helpers.ts'

await t.test('graphs, operators, weights and dims of a built model', async (t) => {
  const { dir, manifest } = await build(t, { checkpointDir: `${FIXTURES}/cepe-tiny-gqa`, dtype: 'f32' })
  const description = await inspectModel(dir)
  const [encoder, generate, , step] = description.graphs
  t.same(encoder?.inputs, [
    { name: 'input_ids', elem: 'i64', shape: ['n_ctx', 'L'] },
    { name: 'attention_mask', elem: 'i64', shape: ['n_ctx', 'L'] },
  ])
  t.same(
    encoder?.outputs.map(({ name, elem }) => [name, elem]),
    [['phi', 'f32']],
  )
  t.same(
    generate?.outputs.map(({ name }) => name).filter((name) => !name.startsWith('prompt.')),
    ['tokens', 'logprobs', 'attention'],
  )
  t.equal(generate?.outputs.length, 3 + 2 * 3, 'and the keys and values of three layers')
  t.equal(generate?.operators.get('Loop'), 1)
  t.equal(generate?.operators.get('GroupQueryAttention'), 3)
  t.equal(step?.operators.get('If'), 2)
  t.equal(step?.weightBytes, generate?.weightBytes, 'both read the decoder')
  t.equal(
    description.bytes,
    manifest.files.reduce((sum, { bytes }) => sum + bytes, 0),
  )

  const text = formatDescription(description)
  t.match(text, /cepe_generate\.onnx: \d+ nodes/)
  t.match(text, /out {2}attention f32 \[n, m\]/)
  t.match(text, /in {3}past_key_values\.\{layer\}\.key f32 \[B, 2, past, 16\]/)

  writeFileSync(join(dir, 'cepe_step.onnx'), 'no graph')
  await t.rejects(inspectModel(dir), { code: 'model_invalid', message: /cepe_step\.onnx cannot be read/ })
})
