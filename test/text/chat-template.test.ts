import t from 'tap'
import { chatWrap } from '../../src/text/chat-template.ts'
import { packPrompt } from '../../src/text/pack.ts'
import { wordTokenizer } from '../fixtures/word-tokenizer.ts'

/** meta-llama/Llama-2-7b-chat-hf, tokenizer_config.json. */
const LLAMA2 =
  "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"
/** TinyLlama/TinyLlama-1.1B-Chat-v1.0. */
const ZEPHYR =
  "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}"
const tokens = { bos_token: '<s>', eos_token: { content: '</s>' } }

t.test('templates as published; BOS stands in front where the template has it', (t) => {
  t.same(chatWrap('none', {}), { before: '', after: '' })
  t.same(chatWrap('tokenizer', { chat_template: LLAMA2, ...tokens }), chatWrap('inst', {}))
  t.same(chatWrap('tokenizer', { chat_template: ZEPHYR, ...tokens }), {
    before: '<|user|>\n',
    after: '</s>\n<|assistant|>\n',
    withoutBos: true,
  })
  const several = [
    { name: 'tool_use', template: 'no' },
    { name: 'default', template: '<u>{{ messages[0].content }}</u>' },
  ]
  t.same(chatWrap('tokenizer', { chat_template: several }), { before: '<u>', after: '</u>', withoutBos: true })
  const { before, withoutBos } = chatWrap('tokenizer', { chat_template: LLAMA2, ...tokens }, false)
  t.same([before, withoutBos], ['<s>[INST] ', true], 'kept as text where the tokenizer puts none')
  const prompt = { question: 'who', demonstrations: [], passages: [], contextTokens: 64, window: 30, maxNewTokens: 5 }
  const packed = packPrompt({ ...prompt, wrap: { before: 'u ', after: '', withoutBos: true } }, wordTokenizer())
  t.not(packed.ids[0], wordTokenizer().bosId)
  t.end()
})

t.test('models that can think answer at once', (t) => {
  const chatml =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}"
  const asked = '<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n'
  const after = (template: string) => chatWrap('tokenizer', { chat_template: template }).after
  // The generation prompt of Qwen/Qwen3-0.6B.
  const hybrid = "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}"
  t.equal(after(chatml + hybrid), asked)
  // That of DeepSeek-R1's distilled models and of Qwen3-Thinking: always thoughts.
  t.equal(after(`${chatml}{{ '<think>\n' }}`), asked)
  t.equal(after(`${chatml}{{ '<think>' }}`), asked)
  t.equal(after(chatml), '<|im_end|>\n<|im_start|>assistant\n')
  t.end()
})

t.test('what cannot be used is named', (t) => {
  const refused = (config: object, message: RegExp): unknown =>
    t.throws(() => chatWrap('tokenizer', { ...config }), { code: 'unsupported', field: 'chat_template', message })
  refused({}, /has none: choose inst or none/)
  refused({ chat_template: '{% for' }, /cannot be rendered/)
  refused({ chat_template: "{{ raise_exception('System prompt wanted') }}" }, /System prompt wanted/)
  refused({ chat_template: 'hello' }, /does not show the message once/)
  refused({ chat_template: '{{ messages[0].content }}{{ messages[0].content }}' }, /does not show the message once/)
  t.end()
})

t.test("what was said before stands in the model's own template, where it takes that", (t) => {
  const earlier = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'who' },
    { role: 'assistant', content: 'he' },
  ] as const
  const { before } = chatWrap('tokenizer', { chat_template: LLAMA2, ...tokens }, true, earlier)
  t.equal(before, '[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nwho [/INST] he </s><s>[INST] ')
  const refused = { code: 'invalid_request', field: 'messages' }
  for (const template of ['none', 'inst'] as const) t.throws(() => chatWrap(template, {}, true, earlier), refused)
  const twice = [earlier[1], earlier[1]]
  t.throws(() => chatWrap('tokenizer', { chat_template: LLAMA2, ...tokens }, true, twice), { ...refused, message: /must alternate/ })
  const wrap = { before: 'long '.repeat(40), after: '' }
  const prompt = { question: 'who', demonstrations: [], passages: [], contextTokens: 64, window: 30, maxNewTokens: 5, wrap }
  t.throws(() => packPrompt(prompt, wordTokenizer()), { code: 'unprocessable', field: 'messages' })
  t.end()
})

t.test('the whole prompt stands inside, and its marks count against the window', (t) => {
  const tokenizer = wordTokenizer()
  const options = {
    question: 'who',
    demonstrations: [],
    passages: [{ title: 'T', text: 'one two' }],
    contextTokens: 64,
    window: 30,
    maxNewTokens: 5,
  }
  const wrap = chatWrap('inst', {})
  const { text, ids } = packPrompt({ ...options, wrap }, tokenizer)
  t.equal(text, '[INST] Document (Title: T): one two\n\nQuestion: who\nAnswer: [/INST]')
  t.equal(tokenizer.decode(ids), `<bos>${text}`)
  const plain = packPrompt(options, tokenizer).ids.length
  t.equal(ids.length, plain + 2)
  const tight = { ...options, window: plain + 5 }
  t.equal(packPrompt(tight, tokenizer).passagesUsed, 1)
  t.equal(packPrompt({ ...tight, wrap }, tokenizer).passagesUsed, 0, 'the passage has no room beside the marks')
  t.end()
})

t.test('a template without a system role has its text before the first message of the user', (t) => {
  const gemma2 =
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate') }}{% endif %}{{ '<start_of_turn>' + (message['role'] if message['role'] != 'assistant' else 'model') + '\n' + message['content'] + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
  const system = { role: 'system', content: 'Be brief.' } as const
  const config = { chat_template: gemma2, bos_token: '<bos>' }
  t.equal(chatWrap('tokenizer', config, true, [system]).before, '<start_of_turn>user\nBe brief.\n\n')
  const earlier = [system, { role: 'user', content: 'who' }, { role: 'assistant', content: 'he' }] as const
  t.equal(
    chatWrap('tokenizer', config, true, earlier).before,
    '<start_of_turn>user\nBe brief.\n\nwho<end_of_turn>\n<start_of_turn>model\nhe<end_of_turn>\n<start_of_turn>user\n',
  )
  t.throws(() => chatWrap('tokenizer', config, true, [system, earlier[1]]), { code: 'invalid_request', message: /must alternate/ })
  t.end()
})
