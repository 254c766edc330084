import t from 'tap'
import { packText } from '../../src/text/pack.ts'
import { wordTokenizer } from '../fixtures/word-tokenizer.ts'

const tokenizer = wordTokenizer()

function passage(title: string, words: number) {
  return { title, text: Array.from({ length: words }, (_, i) => `${title}${i}`).join(' ') }
}
function options(changes: Partial<Parameters<typeof packText>[0]> = {}): Parameters<typeof packText>[0] {
  return {
    question: 'who is it',
    demonstrations: [{ question: 'what', answer: 'that', passage: passage('D', 5) }],
    passages: [passage('A', 20), passage('B', 20), passage('C', 20)],
    contextTokens: 4,
    window: 1000,
    maxNewTokens: 5,
    ...changes,
  }
}

t.test('passages are not cut one by one', (t) => {
  const { text, ids, passagesUsed } = packText(options(), tokenizer)
  t.match(text, /C19\n\nQuestion: who is it\nAnswer:$/)
  t.equal(ids[0], tokenizer.bosId)
  t.equal(passagesUsed, 3)
  t.end()
})

t.test('what is too long is cut where the window ends, inside a passage, and says so', (t) => {
  const whole = packText(options(), tokenizer).ids.length
  const { text, ids, passagesUsed } = packText(options({ window: whole - 5 }), tokenizer)
  t.equal(ids.length, whole - 10, 'the window is used to its last token beside the new ones')
  t.match(text, /\.\.\. \[The rest of the documents is omitted\]\n\nQuestion: who is it\nAnswer:$/)
  t.match(text, 'C0')
  t.notMatch(text, 'C19')
  t.equal(passagesUsed, 3)
  t.equal(packText(options({ window: whole - 25 }), tokenizer).passagesUsed, 2, 'a passage that is cut off whole is not used')
  t.end()
})

t.test('a question that does not fit is refused', (t) => {
  t.throws(() => packText(options({ window: 12 }), tokenizer), { code: 'unprocessable', field: 'question' })
  t.end()
})
