import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { sum } from '../../../base/at.ts'
import { buildModel } from '../../../models/build.ts'
import type { AnswerRead } from '../../../src/inference/contract.ts'
import { createReader } from '../../../src/inference/pool/models/create-reader.ts'
import { grammarOf } from '../../../src/text/grammar/from-schema.ts'
import { root } from '../../helpers/root.ts'

const dir = await mkdtemp(path.join(tmpdir(), 'cepe-written-'))
t.teardown(() => rm(dir, { recursive: true, force: true }))
await buildModel({ checkpointDir: path.join(root, 'models/tiny/checkpoint/cepe'), outDir: dir, dtype: 'f32' })
const reader = await createReader({ modelDir: dir, threads: 1 })
t.teardown(() => reader.close({ drainMs: 0 }))

const passage = (title: string, text: string, score: number) => ({ title, text, score })
const asked: AnswerRead = {
  question: 'what is the capital of australia',
  mode: 'map-rerank',
  passages: [
    passage('Orinoco', 'The Orinoco rises in the Parima Mountains and empties into the Atlantic Ocean in Venezuela.', 1),
    passage('Australia', 'Australia is a country in Oceania whose capital is Canberra.', 1),
    passage('Austria', 'Austria is a country in Europe whose capital is Vienna.', 1),
  ],
  kDecoder: 1,
  encoderPassages: 'others',
  demonstrations: [],
  contextTokens: 64,
  maxNewTokens: 25,
  packing: 'passages',
  replugTemperature: 1,
  includePrompts: false,
}
const object = (properties: Readonly<Record<string, object>>) =>
  grammarOf({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false }, 's')

await t.test('a form is put around the answer in words, and nothing else about it changes', async (t) => {
  for (const mode of ['map-rerank', 'cepe', 'decoder-only'] as const) {
    const plain = await reader.answer({ ...asked, mode, topTokens: 0 })
    t.not(plain.text, '')
    const formed = await reader.answer({ ...asked, mode, topTokens: 0, grammar: object({ answer: { type: 'string', maxLength: 60 } }) })
    const { written, timingsMs: _, ...rest } = formed
    const { timingsMs: __, ...same } = plain
    t.same(rest, same, 'confidence, attention and placement are those of the answer in words')
    t.equal(written?.text, JSON.stringify({ answer: plain.text }))
    t.same(written?.logprobs, plain.logprobs)
    t.equal(written?.tokens?.map(({ text }) => text).join(''), written?.text)
    t.same(
      written?.tokens?.filter(({ logprob }) => logprob < 0).map(({ text }) => text),
      plain.tokens?.map(({ text }) => text),
    )
  }
})

await t.test('an answer that is cut for the only string has not ended', async (t) => {
  const { text, stopped } = await reader.answer(asked)
  t.same([text, stopped], ['canberra', true])
  const answerIn = async (maxLength: number, more: object = {}) => {
    const grammar = object({ answer: { type: 'string', maxLength }, ...more })
    const { written } = await reader.answer({ ...asked, grammar })
    return [JSON.parse(written?.text ?? '') as unknown, written?.stopped]
  }
  t.same(await answerIn(8), [{ answer: 'canberra' }, true])
  t.same(await answerIn(3), [{ answer: 'can' }, false])
  t.match(await answerIn(3, { sure: { type: 'boolean' } }), [{ answer: 'can', sure: Boolean }, false])
})

await t.test('an empty answer has no form with a string, and a constant is no part of an answer', async (t) => {
  const empty = { ...asked, passages: asked.passages.slice(1, 2), stop: ['c'] }
  t.equal((await reader.answer(empty)).text, '')
  for (const more of [{}, { sure: { type: 'boolean' } }]) {
    const { text, written } = await reader.answer({ ...empty, grammar: object({ answer: { type: 'string' }, ...more }) })
    t.same([text, written?.text], ['', ''])
  }
  const { logprobs } = await reader.answer(asked)
  for (const kind of [{ const: 'a capital of a country' }, { enum: ['zzz'] }]) {
    const said = await reader.answer({ ...asked, grammar: object({ kind, answer: { type: 'string' } }) })
    const value = kind.const ?? 'zzz'
    t.same([said.written?.text, said.logprobs], [JSON.stringify({ kind: value, answer: 'canberra' }), logprobs], 'as sure as without it')
  }
})

await t.test('a value that the answer does not name is scored alone, and the greedy answer is kept for the judgement', async (t) => {
  const plain = await reader.answer(asked)
  const forced = await reader.answer({ ...asked, grammar: object({ city: { enum: ['Lima', 'Oslo'] } }) })
  t.match(forced.written?.text, /^\{"city":"(Lima|Oslo)"\}$/)
  t.equal(forced.written?.text, JSON.stringify({ city: forced.text }))
  t.same(forced.greedy, { text: plain.text, stopped: plain.stopped, logprobs: plain.logprobs })
  t.ok(forced.logprobs.length < 12, 'the tokens of the value, not of its frame')
  const instruction = 'Say "not in the passages" where they do not answer.'
  const phrase = { ...asked, instruction, stop: ['a', 'i'], grammar: object({ is: { enum: ['not in the passages', 'Lima. Yes'] } }) }
  t.match(JSON.parse((await reader.answer(phrase)).written?.text ?? ''), { is: /^(not in the passages|Lima. Yes)$/ }, 'stops are of words')
  t.match(
    JSON.parse((await reader.answer({ ...phrase, maxNewTokens: 1 })).written?.text ?? ''),
    { is: String },
    'whole, though it ends early',
  )
  t.same(forced.inDecoder, plain.inDecoder, 'the passage is that of the answer in words')
})

await t.test('a number is as likely as all its digits together', async (t) => {
  const year = { type: 'integer' }
  const alone = await reader.answer({ ...asked, grammar: object({ year }) })
  const digits = alone.written?.logprobs ?? []
  t.ok(digits.length > 1, `${alone.text} has several tokens`)
  t.same(alone.logprobs, [sum(digits)])
  const words = await reader.answer(asked)
  const two = await reader.answer({ ...asked, grammar: object({ answer: { type: 'string' }, year }), topTokens: 0 })
  const ofYear = two.written?.logprobs.slice(words.logprobs.length) ?? []
  t.same(two.logprobs, [sum(ofYear)], 'several values are as likely as the least likely of them')
  const answer = { type: 'string' }
  const many = await reader.answer({ ...asked, grammar: object({ answer, value: answer, result: answer, text: answer, year }) })
  t.same(many.logprobs, two.logprobs, 'sure values do not make up for it')
})

await t.test('several values are written as JSON', async (t) => {
  const text = { type: 'string', maxLength: 30 }
  const grammar = object({ a_name_that_takes_many_tokens: text, another_name_that_takes_many_tokens: text, sure: { type: 'boolean' } })
  for (const sampling of [undefined, { temperature: 1.5, topP: 1, seed: 4 }]) {
    const { written } = await reader.answer({ ...asked, grammar, sampling, topTokens: 0, maxNewTokens: 60 })
    const value = JSON.parse(written?.text ?? '') as Record<string, unknown>
    t.same(Object.keys(value), ['a_name_that_takes_many_tokens', 'another_name_that_takes_many_tokens', 'sure'])
    for (const string of Object.values(value).slice(0, 2)) t.ok(typeof string === 'string' && string.trimStart() === string)
    t.ok((written?.logprobs.filter((logprob) => logprob !== 0).length ?? 99) <= 60)
    t.equal(
      written?.tokens
        ?.map(({ text }) => text)
        .join('')
        .trimStart(),
      written?.text,
    )
  }
})

await t.test('several values are read in the whole passage: they may stand in several sentences', async (t) => {
  const sentence = 'Austria is a country in Europe whose capital is Vienna.'
  const text = `${sentence} Darwin is in the north. Australia is a country in Oceania whose capital is Canberra. It was founded in 1901.`
  const whole = { ...asked, passages: [passage('Australia', text, 1)] }
  const nearest = { ...asked, passages: [passage('Australia', sentence, 1)] }
  const grammar = object({ sure: { type: 'boolean' }, year: { type: 'integer' } })
  const { written } = await reader.answer({ ...whole, grammar, focus: true })
  t.match(written?.text, '"year":1901', 'of the last sentence')
  const words = await reader.answer({ ...whole, focus: true })
  t.same(words.logprobs, (await reader.answer({ ...nearest, mode: 'decoder-only' })).logprobs, 'the answer in words is of a part')
})

await t.test('the tokens of a string that stands next to other values are those of the answer in words', async (t) => {
  const { tokens: words, text } = await reader.answer({ ...asked, topTokens: 2 })
  for (const properties of [
    { answer: { type: 'string' }, sure: { type: 'boolean' } },
    { kind: { enum: [text, 'Lima'] }, answer: { type: 'string' } },
  ]) {
    const { written } = await reader.answer({ ...asked, topTokens: 2, grammar: object(properties) })
    const tokens = written?.tokens ?? []
    const at = tokens.findIndex(
      ({ logprob }, i) => logprob !== 0 && tokens[i]?.text === words?.[0]?.text && tokens[i + 1]?.text.startsWith('"'),
    )
    t.same(tokens.slice(at, at + (words?.length ?? 0)), words)
    t.equal(
      tokens
        .map(({ text }) => text)
        .join('')
        .trimStart(),
      written?.text,
    )
  }
})

await t.test('sampling reads the passages that the greedy answer is from', async (t) => {
  const plain = await reader.answer(asked)
  for (const temperature of [0.01, 1, 5]) {
    const pieces: string[] = []
    const sampled = await reader.answer(
      { ...asked, sampling: { temperature, topP: 1, seed: 1 } },
      { onText: (piece) => void pieces.push(piece) },
    )
    t.equal(sampled.written?.text, sampled.text)
    t.ok(sampled.text.startsWith(pieces.join('')), 'only the sampled answer is streamed')
    t.same([sampled.inDecoder, sampled.contextOf, sampled.contextShares], [plain.inDecoder, plain.contextOf, plain.contextShares])
    if (sampled.text === plain.text) t.same([sampled.greedy, sampled.logprobs], [undefined, plain.logprobs])
    else t.same(sampled.greedy, { text: plain.text, stopped: plain.stopped, logprobs: plain.logprobs })
    if (temperature < 1) t.equal(sampled.text, plain.text)
  }
})

await t.test('values next to the answer are written within the same number of new tokens', async (t) => {
  const grammar = object({ answer: { type: 'string' }, sure: { type: 'boolean' } })
  for (let maxNewTokens = 1; maxNewTokens < 20; maxNewTokens++) {
    const { written } = await reader.answer({ ...asked, grammar, maxNewTokens })
    t.ok(written && written.logprobs.length <= maxNewTokens, `${written?.logprobs.length} of ${maxNewTokens}`)
    const isWhole = /^\{"answer":"canberra","sure":(true|false)\}$/.test(written?.text ?? '')
    t.ok(isWhole || !written?.stopped, String(maxNewTokens))
  }
})

await t.test('each of several values is read by its own question, and null where the passage names none', async (t) => {
  const passages = [passage('Australia', 'Australia is a country in Oceania whose capital is Canberra. It was founded in 1901.', 1)]
  const formOf = async (properties: Readonly<Record<string, object>>, more: Partial<AnswerRead> = {}): Promise<unknown> =>
    JSON.parse((await reader.answer({ ...asked, passages, ...more, grammar: object(properties) })).written?.text ?? '')
  const city = { type: 'string', description: 'what is the capital of australia?' }
  const land = { type: 'string', description: 'what country has the capital canberra?' }
  const alone = await reader.answer({ ...asked, passages, question: land.description })
  t.same(await formOf({ city, land }), { city: 'canberra', land: alone.text })
  const none = { stop: ['c'] }
  t.equal((await reader.answer({ ...asked, passages, ...none })).text, '')
  const year = { type: ['integer', 'null'], description: city.description }
  t.same(await formOf({ year, other: { ...city, type: ['string', 'null'] }, last: { ...city } }, none), {
    year: null,
    other: null,
    last: '',
  })
})

await t.test('a number that the limit cuts is not taken for a whole one', async (t) => {
  const passages = [passage('Australia', 'The population is 1,250 people and the capital is Canberra.', 1)]
  const year = { type: 'integer', description: 'what is the population?' }
  for (const properties of [{ year }, { year, city: { type: 'string' } }, { city: { type: 'string' }, year }]) {
    const read = { ...asked, passages, question: year.description, grammar: object(properties) }
    const whole = (await reader.answer({ ...read, maxNewTokens: 60 })).written?.text
    for (let maxNewTokens = 1; maxNewTokens < 12; maxNewTokens++) {
      const { text, stopped, logprobs = [] } = (await reader.answer({ ...read, maxNewTokens })).written ?? {}
      t.ok(logprobs.length <= maxNewTokens, `${logprobs.length} of ${maxNewTokens} tokens`)
      const number = /"year":-?\d+(?=[,}])/.exec(text ?? '')?.[0]
      t.ok(number === undefined || whole?.includes(`${number},`) || whole?.includes(`${number}}`), `${text} of ${whole}`)
      t.ok(!stopped || text === whole, `${text} has ended`)
      t.notMatch(text, /:,|:$|"year":-?\d*,"city":$/, 'no name without its value')
    }
  }
})

await t.test('a number in place of one that the limit cuts has not ended', async (t) => {
  for (const [noun, amount, whole] of [
    ['population', '1,945', 1945],
    ['temperature', '5 degrees celsius', 5],
  ] as const)
    for (let maxNewTokens = 1; maxNewTokens < 14; maxNewTokens++) {
      const passages = [passage('Australia', `The ${noun} is ${amount}.`, 1)]
      const read = { ...asked, question: `what is the ${noun}?`, passages, maxNewTokens }
      const { text, stopped } = await reader.answer(read)
      const { written } = await reader.answer({ ...read, grammar: object({ value: { type: 'integer' } }) })
      if (stopped) t.same([text, written?.text, written?.stopped], [amount, `{"value":${whole}}`, true])
      else t.same([/^\{"value":-?\d+$/.test(written?.text ?? ''), written?.stopped], [true, false], `${written?.text} of ${text}`)
    }
})

await t.test('the prompts of all values count', async (t) => {
  const question = 'what is the capital of australia?'
  const alone = { ...asked, question, passages: asked.passages.slice(1, 2) }
  const { promptTokens } = await reader.answer(alone)
  for (const count of [2, 4]) {
    const properties = Object.fromEntries(Array.from({ length: count }, (_, i) => [`city${i}`, { type: 'string', description: question }]))
    t.equal((await reader.answer({ ...alone, grammar: object(properties) })).promptTokens, (count + 1) * promptTokens)
  }
})

await t.test('what the question of a name does not find is asked for by the description', async (t) => {
  const passages = asked.passages.slice(1, 2)
  const formed = (capital: object) => reader.answer({ ...asked, passages, grammar: object({ capital, city: { type: 'string' } }) })
  const read = async (capital: object) => (await formed(capital)).promptTokens
  const year = { type: ['integer', 'null'] }
  t.match((await formed(year)).written?.text, '"capital":null')
  t.ok((await read({ ...year, description: 'year of the foundation' })) > (await read(year)), 'both questions are read')
  const named = { enum: ['canberra', 'lima'] }
  t.match((await formed(named)).written?.text, '"capital":"canberra"')
  t.equal(await read({ ...named, description: 'name of the capital' }), await read(named), 'what the name finds is not asked for again')
})
