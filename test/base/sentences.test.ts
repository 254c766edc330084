import t from 'tap'
import { sentencesIn } from '../../base/sentences.ts'

const whole = new Intl.Segmenter('en', { granularity: 'sentence' })

function cut(text: string): string[] {
  return Array.from(sentencesIn(text), ({ start, end }) => text.slice(start, end))
}

t.test('sentences, with the space after them and without gap', (t) => {
  t.same(cut('One. Two!  Three?\nfour'), ['One. ', 'Two!  ', 'Three?\n', 'four'])
  t.same(cut(''), [])
  t.same([...sentencesIn('One. Two. Three.', 5, 10)], [{ start: 5, end: 10 }])
  t.end()
})

t.test('a full stop, ! or ? without space after it ends no sentence; of Chinese and Japanese it does', (t) => {
  for (const one of [
    'Use `a != b`.',
    'See https://a.example/search?q=Boat.',
    'Node.js v20.Alpha is out.',
    'if (!Ok) return.',
    'Really?No.',
  ])
    t.same(cut(`${one} After.`), [`${one} `, 'After.'])
  t.same(cut('So it was.[3] After.'), ['So it was.[3] After.'])
  t.same(cut('船来了。人走了！好吗？”是的'), ['船来了。', '人走了！', '好吗？”', '是的'])
  t.end()
})

t.test('initials, titles and abbreviations before a number end no sentence; a pronoun or an article after an initial begins one', (t) => {
  for (const one of [
    'A paper by Michael E. Mann appeared.',
    'J. R. R. Tolkien wrote it.',
    'Dr. Smith and Mr. Jones of St. Louis met Prof. Xu.',
    'See Fig. 3 and pp. 5 to 7 of No. 12.',
    'Cats vs. Dogs was it, e.g. Rex.',
    'Moss et al. Nature 2010.',
  ])
    t.same(cut(`${one} After.`), [`${one} `, 'After.'])
  t.same(cut('He takes vitamin C. The next one was B. It helps.'), ['He takes vitamin C. ', 'The next one was B. ', 'It helps.'])
  t.same(cut('Did he go? No. He stayed. Louis XIV. Then'), ['Did he go? ', 'No. ', 'He stayed. ', 'Louis XIV. ', 'Then'])
  t.same(cut('By J.\nSmith'), ['By J.\n', 'Smith'], 'a line end always ends one')
  t.end()
})

t.test('what a window holds of the text decides nothing: long texts are cut as the segmenter cuts them as a whole', (t) => {
  const parts = [
    ...[
      'A',
      'b',
      ' ',
      ' ',
      '.',
      '. ',
      '? ',
      '! ',
      'Mr. ',
      'e.g. ',
      '3.5 ',
      '\n',
      '\r\n',
      '" ',
      ') ',
      ', ',
      '-',
      '。',
      '\u0301',
      '\u200d',
      '😀',
    ],
    ...['- '.repeat(600), 'word '.repeat(500), '. '.repeat(1100), 'x'.repeat(1999), '\r'],
  ]
  let seed = 7
  const draw = (below: number): number => (seed = (seed * 48271) % 2147483647) % below
  for (let round = 0; round < 60; round++) {
    const text = Array.from({ length: 100 + draw(700) }, () => parts[draw(round % 2 === 0 ? parts.length : 21)]).join('')
    const segments = Array.from(whole.segment(text), ({ segment }) => segment)
    const joined: string[] = []
    for (const segment of segments) {
      const before = joined.at(-1)
      const isAbbreviated = /(?<![\p{L}\p{N}])(?:A|Mr|e\.g)\. +$/u.test(before ?? '') && /^(?!A\b)[\p{L}\p{N}]/u.test(segment)
      if (before !== undefined && (isAbbreviated || /[.!?]\p{P}*$/u.test(before))) joined.splice(-1, 1, before + segment)
      else joined.push(segment)
    }
    t.same(cut(text), joined)
  }
  t.end()
})
