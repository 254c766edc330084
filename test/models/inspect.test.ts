import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sizeText } from '../../base/at.ts'
import { inspectModel } from '../../models/inspect.ts'
import { build, FIXTURES } from './helpers.ts'

await t.test('graphs, operators, weights and dims of a built model', async (t) => {
  const { dir, manifest } = await build(t, { checkpointDir: `${FIXTURES}/cepe-tiny-gqa`, dtype: 'f32' })
  const text = await inspectModel(dir)
  const [head = '', encoder = '', generate = '', , step = ''] = text.split('\n\n')
  const lines = (section: string, kind: 'in' | 'out'): string[] =>
    section.split('\n').filter((line) => line.startsWith(kind === 'in' ? '  in   ' : '  out  '))
  t.same(lines(encoder, 'in'), ['  in   input_ids i64 [n_ctx, L]', '  in   attention_mask i64 [n_ctx, L]'])
  t.same(lines(encoder, 'out'), ['  out  phi f32 [m, 32]'])
  t.same(lines(generate, 'out'), [
    '  out  tokens i64 [n]',
    '  out  logprobs f32 [n]',
    '  out  attention f32 [n, m]',
    '  out  prompt.{layer}.key f32 [1, 2, P+L, 16]',
    '  out  prompt.{layer}.value f32 [1, 2, P+L, 16]',
  ])
  t.match(generate, /^cepe_generate\.onnx: \d+ nodes/)
  t.match(generate, /operators: .*GroupQueryAttention 3.*Loop 1/)
  t.match(step, /operators: .*If 2/)
  t.match(step, /in {3}past_key_values\.\{layer\}\.key f32 \[B, 2, past, 16\]/)
  const weights = (section: string): string | undefined => /nodes, (\d+ weights, .*)/.exec(section)?.[1]
  t.equal(weights(step), weights(generate), 'both read the decoder')
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0)
  t.match(head, `${sizeText(bytes)} in ${manifest.files.length} files`)

  writeFileSync(join(dir, 'cepe_step.onnx'), 'no graph')
  await t.rejects(inspectModel(dir), { code: 'model_invalid', message: /cepe_step\.onnx cannot be read/ })
})
