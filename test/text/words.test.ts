import t from 'tap'
import { plainText } from '../../src/text/words.ts'

t.test('answers are compared with their signs, without case, accents and other punctuation', (t) => {
  for (const [one, other] of [
    ['-5', '−5'],
    ['–5 °C', '-5 °c'],
    ['“Café”', 'cafe'],
    ['New York.', 'new york'],
    ['O−', 'O-'],
    ['Jean-Luc', 'Jean Luc'],
    ['1990-1995', '1990 – 1995'],
  ] as const)
    t.equal(plainText(one), plainText(other), `${one} and ${other}`)
  for (const [one, other] of [
    ['-5', '5'],
    ['from -5 to 5', 'from 5 to 5'],
    ['C++', 'C'],
    ['C++', 'C#'],
    ['O+', 'O-'],
    ['€', '$'],
    ['😀', '👍'],
    ['%', ''],
  ] as const)
    t.not(plainText(one), plainText(other), `${one} and ${other}`)
  t.end()
})
