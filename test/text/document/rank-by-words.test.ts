import t from 'tap'
import { rankByWords, wordsOf } from '../../../src/text/words.ts'

const order = (question: string, texts: readonly string[]): number[] => rankByWords(question, texts).map(({ index }) => index)

t.test('texts that share rarer words of the question come first', (t) => {
  const texts = ['The pump is red.', 'The pump is built in Rotterdam.', 'Rotterdam is a port.', 'Rotterdam is large.', 'Rain falls.']
  t.same(order('Where is the pump built?', texts).slice(0, 2), [1, 0])
  t.equal(order('ROTTERDAM, pump', texts)[0], 1, 'both words')
  t.equal(order('ROTTERDAM, pump', texts)[4], 4, 'none')
  t.end()
})

t.test('words count in any case, accent and ending; a long text does not win by its length', (t) => {
  t.same(order('founders of Orléans', ['nothing', 'the founder of ORLEANS']), [1, 0])
  const long = `${'other words stand here '.repeat(50)} lamp lamp`
  t.same(order('lamp', [long, 'a lamp']), [1, 0])
  t.end()
})

t.test('in scripts without spaces each letter is a word', (t) => {
  t.same(order('首都在哪里', ['长城很长。', '北京是中国的首都。']), [1, 0])
  t.same(
    wordsOf('ABC北京123 カー').map(({ plain, start, end }) => [plain, start, end]),
    [
      ['abc', 0, 3],
      ['北', 3, 4],
      ['京', 4, 5],
      ['123', 5, 8],
      ['カ', 9, 10],
      ['ー', 10, 11],
    ],
  )
  t.same(
    wordsOf('한국어 문장').map(({ plain }) => plain.normalize()),
    ['한국어', '문장'],
    'Korean has spaces',
  )
  t.end()
})

t.test('without a word in common texts stay in order', (t) => {
  t.same(order('what is it', ['b', 'a', 'c']), [0, 1, 2])
  t.ok(rankByWords('lamp', ['x', '']).every(({ score }) => score === 0))
  t.same(rankByWords('lamp', []), [])
  t.end()
})
