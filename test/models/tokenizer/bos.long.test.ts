import { readFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { buildModel, isBuiltFrom } from '../../../models/build.ts'
import { frontToken } from '../../../models/tokenizer/bos.ts'
import type { TokenizerConfig, TokenizerJson } from '../../../models/tokenizer/tokenizer-json.ts'
import { startServer } from '../../helpers/cli.ts'
import { root } from '../../helpers/root.ts'
import { tinyService } from '../../helpers/service-settings.ts'
import { tempDir } from '../../index/helpers.ts'

/** What transformers makes of prompts with models whose tokenizers differ in BOS (test/fixtures/bos/make.py). */
const FIXTURES = path.join(root, 'test/fixtures/bos')

interface Goldens {
  readonly chats: readonly {
    readonly earlier: readonly { readonly role: string }[]
    readonly question: string
    readonly ids: readonly number[]
    readonly answer: string
  }[]
  readonly prompts: readonly { readonly question: string; readonly ids: readonly number[]; readonly answer: string }[]
}

for (const kind of ['none', 'front']) {
  await t.test(`${kind}: the service answers over HTTP as transformers does`, async (t) => {
    const checkpoint = path.join(FIXTURES, kind)
    const { prompts, chats } = JSON.parse(await readFile(path.join(checkpoint, 'golden.json'), 'utf8')) as Goldens
    const server = await startServer(tinyService(await tempDir(t), { CEPE_READER_CHECKPOINT: checkpoint, CEPE_DTYPE: 'f32' }))
    t.teardown(() => server.stop())
    for (const { question, ids, answer } of prompts) {
      const response = await fetch(`${server.url}/v1/answer`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ question, mode: 'closed-book', demonstrations: 0, max_new_tokens: 8 }),
      })
      t.match(await response.json(), { answer: answer.trim(), usage: { prompt_tokens: ids.length } }, question)
    }
    // The template is that of chat_template.jinja, which is the default for chats.
    for (const { earlier, question, ids, answer } of chats) {
      const chat = (more: object) =>
        fetch(`${server.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ model: kind, messages: [...earlier, { role: 'user', content: question }], max_tokens: 8, ...more }),
        }).then(async (response) => response.text())
      const cepe = { mode: 'closed-book' }
      t.match(JSON.parse(await chat({ cepe })), {
        choices: [{ message: { content: answer.trim() } }],
        usage: { prompt_tokens: ids.length },
      })
      const stop = answer.trim().slice(4, 7)
      const [front = ''] = answer.trim().split(stop)
      const cut = JSON.parse(await chat({ cepe, stop })) as { usage: { completion_tokens: number } }
      t.match(cut, { choices: [{ message: { content: front.trim() }, finish_reason: 'stop' }] })
      t.ok(cut.usage.completion_tokens < 8, 'nothing is made after the stop')
      const streamed = await chat({ cepe, stop: ['never', stop], stream: true })
      const pieces = [...streamed.matchAll(/^data: (\{.*)$/gm)].map(
        ([, data = '']) => (JSON.parse(data) as { choices: { delta: { content?: string } }[] }).choices[0]?.delta.content ?? '',
      )
      t.equal(pieces.join(''), front.trim())
      const without = JSON.parse(await chat({ cepe: { ...cepe, chat_template: 'none' } })) as object
      const ignored = earlier.flatMap(({ role }, i) => (role === 'system' ? [`messages.${i}`] : []))
      if (ignored.length > 0) t.match(without, { cepe: { ignored } }, 'a system message needs a template')
    }
  })
}

t.test('a model that was built with another BOS is built again', async (t) => {
  const checkpointDir = path.join(FIXTURES, 'none')
  const manifest = await buildModel({ checkpointDir, outDir: path.join(t.testdir(), 'built'), dtype: 'f32' })
  t.equal(await isBuiltFrom(manifest, checkpointDir), true)
  if (manifest.architecture !== 'cepe') return t.fail('a reader is expected')
  t.equal(manifest.tokens.bos_id, null)
  t.equal(await isBuiltFrom({ ...manifest, tokens: { ...manifest.tokens, bos_id: 1 } }, checkpointDir), false)
})

t.test('the token in front is that of the post-processor, or of add_bos_token', (t) => {
  const template = {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
    special_tokens: { '<s>': { id: '<s>', ids: [4], tokens: ['<s>'] } },
  }
  const sequence = { type: 'Sequence', processors: [{ type: 'ByteLevel' }, template] }
  const roberta = { type: 'RobertaProcessing', cls: ['<s>', 4], sep: ['</s>', 5] }
  const behind = { ...template, single: [...template.single].reverse() }
  const front = (processor: object | null, config: TokenizerConfig = {}) => {
    const tokenizer: TokenizerJson = {
      added_tokens: [{ id: 7, content: '<b>' }],
      normalizer: null,
      pre_tokenizer: null,
      post_processor: processor,
      decoder: null,
      model: { vocab: {} },
    }
    return frontToken({ tokenizer, config }, 1)
  }
  for (const processor of [template, sequence, roberta]) t.equal(front(processor), 4)
  for (const processor of [null, { type: 'ByteLevel' }, behind]) t.equal(front(processor, { bos_token: '<b>' }), null)
  t.equal(front(template, { add_bos_token: false }), null)
  t.equal(front(null, { add_bos_token: true, bos_token: { content: '<b>' } }), 7)
  t.equal(front(null, { add_bos_token: true }), 1, "config.json's where no token is named")
  t.equal(front(null, { tokenizer_class: 'LlamaTokenizer', bos_token: '<b>' }), 7)
  t.equal(front(null, { tokenizer_class: 'GPT2Tokenizer', bos_token: '<b>' }), null)
  t.end()
})
