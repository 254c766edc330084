import t from 'tap'
import { packPrompt, type PromptTokenizer } from '../../src/text/pack.ts'
import { planRead, type PromptRequest } from '../../src/text/plan.ts'
import { wordTokenizer } from '../fixtures/word-tokenizer.ts'

function passage(name: string, words: number) {
  return { title: name, text: Array.from({ length: words }, (_, i) => `w${i}`).join(' ') }
}
function options(changes: Partial<Parameters<typeof packPrompt>[0]> = {}): Parameters<typeof packPrompt>[0] {
  return {
    question: 'who is it',
    demonstrations: [],
    passages: [passage('A', 20), passage('B', 20), passage('C', 20)],
    contextTokens: 256,
    window: 1000,
    maxNewTokens: 10,
    ...changes,
  }
}

t.test('everything fits: the prompt holds all passages in order, BOS first', (t) => {
  const tokenizer = wordTokenizer()
  const packed = packPrompt(options(), tokenizer)
  t.equal(packed.passagesUsed, 3)
  t.equal(packed.ids[0], tokenizer.bosId)
  t.match(packed.text, /Title: A\).*Title: B\).*Title: C\).*Question: who is it\nAnswer:$/s)
  t.equal(tokenizer.decode(packed.ids.slice(1)), packed.text)
  t.end()
})

t.test('the window bounds prompt and new tokens together, to the token', (t) => {
  const tokenizer = wordTokenizer()
  const full = packPrompt(options(), tokenizer).ids.length + 10
  t.equal(packPrompt(options({ window: full }), tokenizer).passagesUsed, 3)
  t.equal(packPrompt(options({ window: full - 1 }), tokenizer).passagesUsed, 2)
  for (let window = 20; window < full; window++) {
    const packed = packPrompt(options({ window }), tokenizer)
    t.ok(packed.ids.length + 10 <= window, `window ${window}`)
  }
  t.end()
})

t.test('a passage is cut at its end, the title stays', (t) => {
  const tokenizer = wordTokenizer()
  const { text } = packPrompt(options({ demonstrations: [], passages: [passage('Long', 500)], contextTokens: 30 }), tokenizer)
  const [cut = ''] = text.split('\n\n')
  t.match(cut, /^Document \(Title: Long\): w0 w1/)
  t.equal(tokenizer.encode(cut).length, 30)
  t.end()
})

t.test("a demonstration's passage is cut too", (t) => {
  const tokenizer = wordTokenizer()
  const long = { question: 'q', answer: 'a', passage: passage('D', 500) }
  const packed = packPrompt(options({ demonstrations: [long], passages: [], contextTokens: 40 }), tokenizer)
  t.ok(packed.ids.length < 70)
  t.match(packed.text, /Title: D/)
  t.end()
})

t.test('a question longer than the window is refused by name', (t) => {
  const tokenizer = wordTokenizer()
  t.throws(() => packPrompt(options({ question: 'word '.repeat(200), window: 100 }), tokenizer), /question has \d+ tokens/)
  t.end()
})

t.test('demonstrations that leave no room for the question are refused by name', (t) => {
  const tokenizer = wordTokenizer()
  const demonstrations = [1, 2].map(() => ({ question: 'q', answer: 'a', passage: passage('D', 60) }))
  t.throws(() => packPrompt(options({ demonstrations, window: 100 }), tokenizer), /2 demonstrations and the question take/)
  t.end()
})

/** Counts the characters that are tokenised. */
function counting(): PromptTokenizer & { characters: number } {
  const tokenizer = wordTokenizer()
  const counted = {
    ...tokenizer,
    characters: 0,
    encode: (text: string, options?: { readonly maxTokens?: number }) => {
      // As the real one: no further than the tokens need.
      counted.characters += options?.maxTokens === undefined ? text.length : Math.min(text.length, 16 * (options.maxTokens + 64))
      return tokenizer.encode(text, options)
    },
  }
  return counted
}

t.test('only what is kept is tokenised, demonstrations once for all prompts of RePlug', async (t) => {
  const long = { title: 'T', text: 'word '.repeat(4000) }
  const request: PromptRequest = {
    question: 'what',
    mode: 'replug',
    passages: Array.from({ length: 20 }, () => ({ ...long, score: 1 })),
    kDecoder: 0,
    encoderPassages: 'others',
    packing: 'passages',
    demonstrations: Array.from({ length: 8 }, () => ({ question: 'q', answer: 'a', passage: long })),
    contextTokens: 20,
    maxNewTokens: 5,
  }
  const tokenizer = counting()
  const plan = await planRead(request, { window: 512, hasEncoder: true, replugTokens: 1e6 }, tokenizer)
  t.equal(plan.prompts.length, 20)
  t.ok(plan.inDecoder.every(Boolean))
  const texts = 28 * long.text.length
  t.ok(tokenizer.characters < texts / 2, `${tokenizer.characters} of ${texts} characters, whole texts once`)
})

t.test("RePlug's prompts are bounded together, by name", async (t) => {
  const request: PromptRequest = {
    question: 'what',
    mode: 'replug',
    passages: Array.from({ length: 10 }, () => ({ ...passage('P', 40), score: 1 })),
    kDecoder: 0,
    encoderPassages: 'others',
    packing: 'passages',
    demonstrations: [],
    contextTokens: 256,
    maxNewTokens: 5,
  }
  const plan = (replugTokens: number) => planRead(request, { window: 512, hasEncoder: true, replugTokens }, wordTokenizer())
  await t.rejects(plan(200), { code: 'unprocessable', field: 'k', message: /10 prompts.*more than 200 tokens.*CEPE_REPLUG_MB/ })
  t.equal((await plan(1000)).prompts.length, 10)
})

t.test('a cut demonstration keeps the tokens that its whole text would have kept', (t) => {
  const tokenizer = wordTokenizer()
  const demonstration = { question: 'q', answer: 'a', passage: passage('A long title', 500) }
  for (const contextTokens of [10, 30, 200]) {
    const { text } = packPrompt(options({ demonstrations: [demonstration], passages: [], contextTokens }), tokenizer)
    const kept = text.split('\n')[0] ?? ''
    t.equal(tokenizer.encode(kept).length, contextTokens)
    t.match(kept, /^Document \(Title: A long title\): w0 w1/)
  }
  t.end()
})
