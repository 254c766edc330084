import t from 'tap'
import { cited, highlights } from '../../src/rag/evidence.ts'
import type { Evidence } from '../../src/rag/schema.ts'

function shown(text: string, answer: string) {
  return highlights(text, answer).map(({ start, end, sentence }) => [text.slice(start, end), text.slice(sentence.start, sentence.end)])
}

t.test('the answer is found as whole words, whatever its case, accents and punctuation', (t) => {
  const text = 'It is large. São Paulo is a city! Saopaulo is none; sao-paulo is.'
  t.same(shown(text, 'sao paulo'), [
    ['São Paulo', 'São Paulo is a city!'],
    ['sao-paulo', 'Saopaulo is none; sao-paulo is.'],
  ])
  t.same(shown('The Neva crosses it.', 'the neva'), [['Neva', 'The Neva crosses it.']])
  t.same(shown('In 1871 or 18711.', '1871'), [['1871', 'In 1871 or 18711.']])
  t.same(shown('a the', 'the'), [['the', 'a the']], 'an article alone is an answer')
  t.same(shown('It is Can\u00adber\u00adra. Zü\u00adrich too.', 'canberra'), [['Can\u00adber\u00adra', 'It is Can\u00adber\u00adra.']])
  t.same(shown('Zurich is no Zü\u00adrich', 'zü\u00adrich'), [
    ['Zurich', 'Zurich is no Zü\u00adrich'],
    ['Zü\u00adrich', 'Zurich is no Zü\u00adrich'],
  ])
  t.same(shown('text', ''), [])
  t.same(shown('', 'x'), [])
  t.same(shown('text', '...'), [])
  t.same(shown('short', 'much longer than short'), [])
  t.end()
})

t.test('a number is found whole, not within another one', (t) => {
  const text = 'It takes 12 days. Others get 12.5, 3.12, 12,500, 5,012, 1\u202f012 or 12’000. At 12.'
  t.same(
    highlights(text, '12').map(({ start }) => start),
    [text.indexOf('12 days'), text.lastIndexOf('12')],
  )
  t.same(shown('We have 12,500 of 500, or 1.500.', '500'), [['500', 'We have 12,500 of 500, or 1.500.']])
  t.same(shown('We have 12,500, 30 or 12 500.', '12,500'), [
    ['12,500', 'We have 12,500, 30 or 12 500.'],
    ['12 500', 'We have 12,500, 30 or 12 500.'],
  ])
  t.same(shown('From 1815,1820 on at 9:00', '1820'), [['1820', 'From 1815,1820 on at 9:00']])
  t.same(shown('The price is $1,234.50.', '$1,234.50'), [['$1,234.50', 'The price is $1,234.50.']])
  t.same(shown('The price is $1,234.50.', '1,234'), [])
  t.end()
})

t.test('a negative number is another one than the positive', (t) => {
  const text = 'It was −5 °C, then 5 °C, then -5 or –$5. Pages 4-5, 4 –5 and A-5.'
  const found = (answer: string) =>
    highlights(text, answer).map(({ start, end }) => `${text.slice(start - 2, start)}[${text.slice(start, end)}]`)
  t.same(found('-5'), ['s [−5]', 'n [-5]', 'r [–$5]'])
  t.same(found('5'), ['n [5]', '4-[5]', ' –[5]', 'A-[5]'])
  t.same(found('−5 °C'), ['s [−5 °C]'])
  t.same(shown('It is 40%–50% at 5°-10°.', '50%'), [['50%', 'It is 40%–50% at 5°-10°.']], 'a range')
  t.end()
})

t.test('signs of letters belong to the word, and other signs of the answer to the match', (t) => {
  const text = 'C is older than C++, C# and F#; the grade is A+ (62.5%, ±0.5), 5′7″ or £12.50 by “Why?”'
  const found = (answer: string) => highlights(text, answer).map(({ start, end }) => text.slice(start, end))
  t.same(found('C'), ['C'])
  t.same(found('c++'), ['C++'])
  t.same(found('C#'), ['C#'])
  t.same(found('A'), [], 'A+ is not A')
  t.same(found('A+'), ['A+'])
  t.same(found('62.5%'), ['62.5%'])
  t.same(found('62.5'), ['62.5'])
  t.same(found('±0.5'), ['±0.5'])
  t.same(found('5′7″'), ['5′7″'])
  t.same(found('the £12.50'), ['£12.50'])
  t.same(found('$12.50'), ['12.50'])
  t.same(found('“Why?”'), ['“Why?”'])
  t.same(found('Why'), ['Why'])
  t.end()
})

t.test('the answer is found within scripts without spaces', (t) => {
  t.same(shown('长城很长。北京是中国的首都。', '北京'), [['北京', '北京是中国的首都。']])
  t.same(shown('𠀀東京タワーは1958年に完成した。', '1958年'), [['1958年', '𠀀東京タワーは1958年に完成した。']])
  t.end()
})

t.test('places are bounded', (t) => {
  t.equal(highlights('x '.repeat(1000), 'x').length, 20)
  t.end()
})

t.test('of the passages that were read, those with the answer are cited, else the most attended', (t) => {
  const highlight = { start: 0, end: 1, sentence: { start: 0, end: 1 } }
  const passage = (id: string, role: Evidence['role'], attention: number | null, highlights: Evidence['highlights'] = []): Evidence => ({
    ...{ id, role, attention, highlights },
    ...{ title: '', text: id, score: null, rank: 1, tokens: null },
  })
  const silent = [passage('a', 'encoder', 0.1), passage('b', 'decoder', null), passage('c', 'encoder', 0.6), passage('d', 'unused', null)]
  const most = { saying: 1, attended: 4 }
  const ids = (evidence: Evidence[]) => cited(evidence, most).map(({ id }) => id)
  t.same(ids(silent), ['c', 'a', 'b'], 'a passage that was not read is cited')
  t.same(ids([passage('unread', 'unused', null, [highlight]), ...silent]), ['c', 'a', 'b'])
  t.same(ids([...silent, passage('e', 'encoder', 0, [highlight]), passage('f', 'encoder', 0.9, [highlight])]), ['e'])
  t.end()
})
