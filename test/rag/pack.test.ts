import t from 'tap'
import { packPrompt, truncatePassage, type PackOptions } from '../../src/rag/pack.ts'
import { wordTokenizer } from '../helpers/word-tokenizer.ts'

function passage(name: string, words: number) {
  return { title: name, text: Array.from({ length: words }, (_, i) => `w${i}`).join(' ') }
}
function options(changes: Partial<PackOptions> = {}): PackOptions {
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
  const { text, tokens } = truncatePassage(passage('Long', 500), 30, tokenizer)
  t.equal(tokens, 30)
  t.match(text, /^Document \(Title: Long\): w0 w1/)
  t.equal(tokenizer.encode(text).length, 30)
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
