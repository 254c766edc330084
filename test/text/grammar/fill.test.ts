import t from 'tap'
import { determined, inWords, stringIn, valueIn } from '../../../src/text/grammar/fill.ts'
import { grammarOf } from '../../../src/text/grammar/from-schema.ts'
import type { Grammar } from '../../../src/text/grammar/grammar.ts'

function object(properties: Readonly<Record<string, object>>) {
  return grammarOf({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false }, 's')
}
/** The form of an answer, with `_` for each value that it does not determine. */
const form = (grammar: Grammar, answer: string): string =>
  grammar
    .map((part) => {
      if (part.kind === 'literal') return part.text
      if (part !== determined(grammar, answer)) return '_'
      return part.kind === 'string' ? stringIn(part, answer) : (valueIn(part, answer) ?? '_')
    })
    .join('')
const written = (schema: object, answer: string): unknown => {
  const text = form(grammarOf(schema, 's'), answer)
  return text.includes('_') ? undefined : (JSON.parse(text) as unknown)
}

t.test('the answer in words is the only string of a schema, whole or cut between words', (t) => {
  const string = { type: 'string', maxLength: 20 }
  t.equal(form(object({ answer: string }), 'Canberra'), '{"answer":"Canberra"}')
  t.equal(form(object({ answer: string }), ''), '{"answer":""}')
  t.equal(written(string, 'say "no"\\'), 'say "no"\\')
  t.equal(written({ type: 'string', maxLength: 10 }, 'Queen Elizabeth II'), 'Queen')
  t.equal(written({ type: 'string', maxLength: 15 }, 'Queen Elizabeth II'), 'Queen Elizabeth')
  t.equal(written({ type: 'string', maxLength: 4 }, '😀😀😀😀😀'), '😀😀😀😀', 'characters are code points')
  t.equal(form(object({ kind: { enum: ['a', 'b'] }, answer: string }), 'Paris'), '{"kind":_,"answer":"Paris"}')
  t.equal(form(object({ city: string, country: string }), 'Paris'), '{"city":_,"country":_}', 'which of two strings is it?')
  t.end()
})

t.test('an answer in words names the choice or the number', (t) => {
  const cities = { enum: ['Sydney', 'Canberra', 'New York'] }
  for (const [answer, value] of [
    ['canberra', 'Canberra'],
    ['the city of Canberra', 'Canberra'],
    ['New York City', 'New York'],
    ['York', 'New York'],
    ['Sydney or Canberra', undefined],
    ['Vienna', undefined],
    ['', undefined],
  ] as const)
    t.equal(written(cities, answer), value, answer)
  t.equal(written({ enum: ['Canberra', null] }, ''), null, 'no answer')
  t.equal(written({ enum: ['Canberra', ''] }, ''), '')
  t.same([written({ enum: ['1', 1] }, '1'), written({ enum: [1, 12] }, 'twelve: 12')], [undefined, 12])
  t.same(
    [written({ type: 'boolean' }, 'Yes'), written({ type: 'boolean' }, 'no, never'), written({ type: 'boolean' }, 'Paris')],
    [true, false, undefined],
  )
  for (const [type, answer, value] of [
    ['integer', 'in 1927', 1927],
    ['integer', '1,234,567 people', 1234567],
    ['integer', '1.5 million', 1500000],
    ['integer', '8.2 billion', 8_200_000_000],
    ['number', '8.2 billion', 8_200_000_000],
    ['number', '4.35 hundred', 435],
    ['number', '-16.1 thousand', -16_100],
    ['number', '0.0005 thousand', 0.5],
    ['number', '007.50', 7.5],
    ['integer', '3.5', undefined],
    ['number', '−3.5 degrees', -3.5],
    ['number', 'about 2 billion', 2e9],
    ['integer', '14 July 1789', undefined],
    ['integer', 'COVID-19', 19],
    ['integer', '1927-1930', undefined],
    ['integer', '-40 degrees', -40],
    ['number', 'three', 3],
    ['integer', 'Twenty-five people', 25],
    ['integer', 'two hundred and six bones', 206],
    ['integer', 'one thousand, two hundred and ten', 1210],
    ['integer', 'Three hundred twelve thousand five', 312_005],
    ['integer', 'two million', 2_000_000],
    ['number', 'two point five', undefined],
    ['integer', 'minus five degrees', -5],
    ['integer', 'five degrees below zero', -5],
    ['integer', 'zero', 0],
    ['integer', 'one', 1],
    ['integer', 'exactly one moon', 1],
    ['integer', 'one of the largest', undefined],
    ['integer', 'no one', undefined],
    ['integer', 'five lakh', 500_000],
    ['integer', 'twenty-first', undefined],
    ['integer', 'nineteen eighty-four', undefined],
    ['integer', 'two thousand million', undefined],
    ['number', 'two and a half', undefined],
    ['number', 'one half', undefined],
    ['number', 'two-thirds', undefined],
    ['number', 'one sixteenth', undefined],
    ['number', '3 twentieths', undefined],
    ['integer', 'twenty-five hundred', 2500],
    ['integer', 'ten to fifteen thousand', undefined],
    ['integer', 'one in five', undefined],
    ['integer', 'two dozen', undefined],
    ['integer', 'between two and five', undefined],
    ['integer', 'a phone, often', undefined],
    ['integer', 'five (5)', 5],
    ['integer', 'five (6)', undefined],
    // The parts of a number, not one of them.
    ['integer', 'a hundred and five', 105],
    ['integer', 'over a hundred thousand', 100_000],
    ['integer', 'a thousand and one nights', 1001],
    ['integer', 'two-hundred-and-five', 205],
    ['integer', 'one\u2011hundred twenty\u2011one', 121],
    ['integer', 'hundred and five metres', 105],
    ['integer', 'hundreds', undefined],
    ['integer', 'a few hundred and 5', undefined],
    ['integer', 'half a million', undefined],
    ['integer', 'a tenth of a million', undefined],
    ['integer', 'five million, of the two thousand million', undefined],
    // Numbers twice, digits by their names.
    ['integer', 'twenty-twenty', undefined],
    ['integer', '555-555', undefined],
    ['integer', 'six six six', undefined],
    ['integer', 'nine one one', undefined],
    ['integer', 'double oh seven', undefined],
    ['integer', 'one-twenty', undefined],
    ['integer', '206 (two hundred and six) bones', 206],
    ['integer', 'minus five (5)', -5],
    // Ordinals, decades, and numbers of the next word.
    ['integer', 'the twenty first century', undefined],
    ['integer', 'one hundred and twenty-first', undefined],
    ['integer', 'two hundred second', undefined],
    ['integer', 'the twenty-first of 1927', undefined],
    ['integer', 'the nineteen sixties', undefined],
    ['integer', 'thirty seconds', 30],
    ['integer', 'forty two-bedroom flats', undefined],
    ['integer', 'sixty-six-year-old', 66],
    // Other words that change a number.
    ['integer', 'five below', undefined],
    ['integer', '5 under par', undefined],
    ['integer', 'half past five', undefined],
    ['integer', 'not five', undefined],
    ['integer', 'not until 1927', 1927],
    ['integer', 'five grand', undefined],
    ['integer', '20 k', undefined],
    ['integer', 'two score', undefined],
    ['integer', '3 quadrillion', undefined],
    ['integer', 'ten to the sixth', undefined],
    ['integer', 'ten-fold', undefined],
    ['integer', 'the big one', undefined],
    ['integer', 'one-way', undefined],
    ['integer', 'ground zero', undefined],
    ['integer', 'at least one', 1],
    ['integer', 'a city of one million', 1_000_000],
    ['integer', '12345678901234567890', undefined],
    ['integer', 'minus 40 degrees', -40],
    ['integer', 'terminus 40', 40],
    ['integer', '4\u202f810 metres', 4810],
    ['integer', '3 hundred million coins', 300_000_000],
    ['number', '$3.5bn', 3.5e9],
    ['number', '5½ litres', undefined],
    ['number', '5 ½ litres', undefined],
    ['integer', '10⁶ parts', undefined],
    ['integer', '2 dozen', undefined],
    ['number', '2 and a half kilograms', undefined],
    ['number', '2 million and a half', undefined],
    ['integer', '3 millions', undefined],
    ['integer', '–5 °C', -5],
    ['integer', '‑5 °C', -5],
    ['integer', '－5', -5],
    ['integer', '-$5', -5],
    ['integer', '−€1,234 in all', -1234],
    ['integer', 'minus\u00a05', -5],
    ['integer', '40 degrees below zero', -40],
    ['number', '2.5 °C below zero', -2.5],
    ['integer', '5 degrees Celsius below zero', -5],
    ['integer', 'five degrees centigrade below freezing', -5],
    ['integer', '5 metres below the street', 5],
    ['integer', '44 BC', -44],
    ['integer', 'in 44 B.C.E. or so', -44],
    ['integer', 'pages 5 –7', undefined],
    ['integer', '$20k', 20_000],
    ['number', '£3.5m', 3.5e6],
    ['number', '€1.2 T', 1.2e12],
    ['number', '3.5m tall', 3.5],
    ['integer', '20K', undefined],
    ['integer', '20k people', undefined],
    ['integer', "the 1980's", undefined],
    ['integer', '1980s', undefined],
    ['integer', '20 seconds', 20],
    ['integer', 'No. 5', 5],
    ['integer', '21st', 21],
    ['integer', '5 %', 5],
    ['number', '1.234,56', undefined],
    ['integer', '(1,250)', -1250],
    ['integer', '$(5)', -5],
    ['integer', '($5)', -5],
    ['integer', '$ (5) million', -5_000_000],
    ['integer', '(5) million dollars', -5_000_000],
    ['integer', '$(20)k', -20_000],
    ['number', '(12.5)%', -12.5],
    ['number', '1,250.00-', -1250],
    ['number', '5-', undefined],
    ['integer', '(5%)', -5],
    ['integer', '(5)', undefined],
    ['integer', '(1927)', undefined],
    ['integer', 'loss of $(5)', undefined],
    ['integer', 'a net loss of (1,250)', undefined],
    ['integer', 'Metropolis (1927)', 1927],
    ['number', '$.50', 0.5],
    ['number', '-.5', -0.5],
    ['number', '.75 litres', 0.75],
    ['integer', 'No.5', 5],
    ['integer', '- 5', undefined],
    ['integer', '±5 mm', undefined],
    ['integer', '5-', undefined],
    ['integer', '5-year plan', 5],
    ['number', '5 hundredths', undefined],
    ['integer', '2 thirds', undefined],
  ] as const)
    t.equal(written({ type }, answer), value, answer)
  for (const [values, answer, value] of [
    [[12, 13], '12,345.5 metres', undefined],
    [[12, 12345.5], '12,345.5 metres', 12345.5],
    [[12, 13], '-12 metres', undefined],
    [[12, -12], 'minus 12 metres', -12],
    [[8.2, 9], '8.2 billion', undefined],
    [[8.2e9, 9], '8.2 billion', 8.2e9],
    [[2, 3], '2 dozen', undefined],
    [[1902, 1903], '3 March 1902', 1902],
    [['12', '13'], '12,345.5 metres', undefined],
    [['-5 degrees', '5 degrees'], '−5 degrees', '-5 degrees'],
    [['12', 'B12'], 'vitamin B12', 'B12'],
    [['C', 'C++', 'C#'], 'C++', 'C++'],
    [['C', 'Java'], 'C++', undefined],
    [['O+', 'O-'], 'blood group O−', 'O-'],
    [['€', '$'], '€', '€'],
    [['€', null], '$', undefined],
    [['5 °C', '10 °C'], '–5 °C', undefined],
    [['married', 'single'], 'not married', undefined],
    [['married', 'not married'], 'not married', 'not married'],
    [[5, 6], 'not 5', undefined],
    [[5, 6], 'No. 5', 5],
    [[-1250, 1250], '(1,250)', -1250],
    [['1,250', '-1,250'], '(1,250)', '-1,250'],
    [[1927, 1928], '(1927)', 1927],
    [[5, -5], '(5)', undefined],
    [[0.5, 5], '.5', 0.5],
    [['5', '.5'], '0.5', '.5'],
    [['2', '3'], 'two', '2'],
    [['two', 'three'], '2', 'two'],
    [['2', '3'], 'two dozen', undefined],
    [['2', '3'], '2 and a half', undefined],
    [['one', 'none'], 'none', 'none'],
    [[1, 2, 3], 'only one', 1],
    [['One Direction', 'Two Door Cinema Club'], 'one direction', 'One Direction'],
  ] as const)
    t.equal(written({ enum: values }, answer), value, `${answer} of ${values.join()}`)
  t.end()
})

t.test('of several values an amount is the number, and what is no amount the string', (t) => {
  const properties = { where: { type: 'string', maxLength: 40 }, count: { type: 'integer' } }
  for (const [schema, answer, expected] of [
    [properties, 'two', '{"where":_,"count":2}'],
    [properties, '2 entrances', '{"where":_,"count":2}'],
    [properties, 'minus three', '{"where":_,"count":-3}'],
    [properties, 'about 300 people', '{"where":_,"count":300}'],
    [properties, '(1,250)', '{"where":_,"count":-1250}'],
    [properties, 'in the north', '{"where":"in the north","count":_}'],
    [properties, 'Room 2', '{"where":"Room 2","count":_}'],
    [properties, '2.5', '{"where":"2.5","count":_}'],
    [properties, 'between 2 and 3', '{"where":"between 2 and 3","count":_}'],
    [{ ...properties, steps: { type: 'number' } }, '2', '{"where":_,"count":_,"steps":_}'],
    [{ ...properties, street: { type: 'string' } }, '2', '{"where":_,"count":2,"street":_}'],
    [{ ...properties, isOpen: { type: 'boolean' } }, '2', '{"where":_,"count":2,"isOpen":_}'],
  ] as const)
    t.equal(form(object(schema), answer), expected, answer)
  t.end()
})

t.test('a value that the answer does not name is decoded in words', (t) => {
  const choice = inWords({ kind: 'choice', texts: ['"Sydney"', '"say \\"no\\""', '7'] })
  t.same(choice.value, { kind: 'choice', texts: ['Sydney', 'say "no"', '7'] })
  t.same([choice.json('say "no"'), choice.json('7')], ['"say \\"no\\""', '7'])
  const spaced = inWords({ kind: 'choice', texts: ['" Lima "', '"not in the passages"'] })
  t.same(
    [spaced.json('Lima'), spaced.json('not in'), spaced.value],
    ['" Lima "', '"not in the passages"', { kind: 'choice', texts: ['Lima', 'not in the passages'] }],
  )
  const sure = inWords({ kind: 'choice', texts: ['true', 'false'] })
  t.same([sure.json('yes'), sure.json('false')], ['true', 'false'])
  t.equal(inWords({ kind: 'integer' }).json('-7'), '-7')
  t.end()
})
