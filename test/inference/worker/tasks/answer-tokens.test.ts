import path from 'node:path'
import t from 'tap'
import { createConstraint, tokenTexts } from '../../../../src/inference/worker/decoder/constraint.ts'
import { answerTokens } from '../../../../src/inference/worker/tasks/answer-tokens.ts'
import { tokensAround } from '../../../../src/inference/worker/tasks/json-tokens.ts'
import { loadTokenizer } from '../../../../src/text/tokenizer.ts'
import { packageRoot } from '../../../../src/package.ts'

const VOCABULARY = 10_240
const tokenizer = await loadTokenizer(path.join(packageRoot(), 'models/tiny/checkpoint/cepe'), { bos_id: 1, eos_ids: [2] })
const stopIds = tokenizer.stopIds('\n')

t.test("an answer's tokens are its text, whatever was cut, and whatever characters take several tokens", (t) => {
  for (const [said, text] of [
    [' canberra\n', 'canberra'],
    ['  zürich \u{1f600} and \u0142\u00f3d\u017a\n', 'zürich \u{1f600} and \u0142\u00f3d\u017a'],
    [' canberra, the capital', 'can'],
    [' canberra the capital', 'canberra the'],
    ['\n', ''],
  ] as const) {
    const tokenIds = tokenizer.encode(said)
    const logprobs = tokenIds.map((_, i) => -i)
    const alternatives = tokenIds.map((id) => [{ id, logprob: -1 }])
    const tokens = answerTokens({ tokenIds, logprobs, alternatives }, text, tokenizer)
    t.equal(tokens.map((token) => token.text).join(''), text, JSON.stringify(said))
    t.ok(tokens.every(({ top }) => top.length === 1))
    t.ok(tokens.every(({ logprob }) => logprob <= 0))
  }
  t.end()
})

t.test('a token is as likely among its alternatives as it is itself; fixed text keeps what the model would say', (t) => {
  const [first = 0, second = 0] = tokenizer.encode(' canberra sydney')
  const alternatives = [
    [
      { id: second, logprob: -0.5 },
      { id: first, logprob: -0.9 },
    ],
    [{ id: second, logprob: -2 }],
  ]
  const text = tokenizer.decode([first, second]).trim()
  const tokens = answerTokens({ tokenIds: [first, second], logprobs: [-0.4, 0], alternatives }, text, tokenizer)
  t.same(
    tokens.map(({ top }) => top.map(({ logprob }) => logprob)),
    [[-0.4, -0.5], [-2]],
  )
  t.equal(tokens[0]?.top[0]?.text, tokens[0]?.text)
  t.end()
})

t.test('a constraint leaves the tokens that go on, and the end where a text is whole', (t) => {
  const texts = tokenTexts(tokenizer, VOCABULARY)
  t.ok(texts.filter((text) => text !== undefined).length > 9000)
  t.equal(texts[2], undefined, 'a special token says nothing')
  const flat = new Float64Array(VOCABULARY)
  const open = (constraint: ReturnType<typeof createConstraint>) =>
    [...constraint.mask(flat).entries()].flatMap(([id, logprob]) => (logprob === -Infinity ? [] : [id]))
  const integer = createConstraint({ kind: 'integer' }, texts, stopIds)
  const first = open(integer)
  t.ok(first.every((id) => /^ ?-?\d*$/.test(texts[id] ?? 'x')) && first.length > 10)
  t.notOk(
    first.some((id) => stopIds.includes(id)),
    'nothing is not whole',
  )
  const unsigned = open(createConstraint({ kind: 'integer', isUnsigned: true }, texts, stopIds))
  t.same(
    unsigned,
    first.filter((id) => !texts[id]?.includes('-')),
    'no sign where none may be',
  )
  t.ok(unsigned.length < first.length)
  const seven = texts.findIndex((text) => text === '7')
  t.equal(integer.accept(seven), false, 'a number may go on')
  const second = open(integer)
  t.ok(stopIds.every((id) => second.includes(id)))
  t.ok(
    second.filter((id) => !stopIds.includes(id)).every((id) => /^\d+$/.test(texts[id] ?? '')),
    'no space in the midst',
  )
  t.equal(integer.accept(stopIds[0] ?? -1), true)
  const words = createConstraint({ kind: 'choice', texts: ['"ab"'] }, ['"', 'a', 'b"', 'c', undefined], [4])
  for (const [id, isOver] of [
    [0, false],
    [1, false],
    [2, true],
  ] as const) {
    t.same(
      [...words.mask(new Float64Array(5)).entries()].flatMap(([i, logprob]) => (logprob === 0 ? [i] : [])),
      [id],
    )
    t.equal(words.accept(id), isOver)
  }
  const poor = createConstraint({ kind: 'choice', texts: ['"xyz"'] }, ['"', 'a'], [])
  t.equal(poor.accept(0), false)
  t.throws(() => poor.mask(new Float64Array(2)), { code: 'unprocessable', field: 'response_format' })
  t.end()
})

t.test('tokens of an answer that got its sign are its text', (t) => {
  const tokens = [
    { text: '$1', logprob: -1, top: [] },
    { text: ',250', logprob: -2, top: [] },
  ]
  const [open, close] = ['(', ')'].map((text) => ({ text, logprob: 0, top: [] }))
  t.same(tokensAround(tokens, '($1,250)'), [open, ...tokens, close])
  t.same(tokensAround(tokens, '$(1,250)'), [{ text: '$(1,250)', logprob: -3, top: [] }])
  t.end()
})
