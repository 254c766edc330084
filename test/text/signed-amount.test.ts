import t from 'tap'
import { asSigned, NEGATIVE } from '../../src/text/signed-amount.ts'

const cases = [
  ['$1,250', 'The net result was $(1,250) in 2020.', '$(1,250)'],
  ['1,250', 'The net result was $(1,250) in 2020.', '$(1,250)'],
  ['$1,250 million', 'The net result was ($1,250) million.', '($1,250) million'],
  ['1,250', 'Net result 2019: 3,100; net result 2020: (1,250); net result 2021: 840.', '(1,250)'],
  ['12,345', 'Impairment of goodwill (12,345) (2,300)', '(12,345)'],
  ['2,300', 'Impairment of goodwill (12,345) (2,300)\nRevenue 9,000 8,000', '(2,300)'],
  ['1,250.00', 'February: 310.00; March: 1,250.00-; April: 92.50.', '1,250.00-'],
  ['€1.250,00', 'Saldo: (€1.250,00)', '(€1.250,00)'],
  ['4.5%', 'Growth: (4.5%)', '(4.5%)'],
  ['4.5%', 'Growth: 4.5-%', '4.5-%'],
  ['the loss was 1,250', 'Loss: (1,250)', 'the loss was (1,250)'],
  ['1,250', 'Net result 3,100 (1,250) 840', '(1,250)'],
  ['1,250', 'Net result 840 (1,250)\nTax 30 (20)', '(1,250)'],
  ['($4,300)', 'The costs were $(4,300).', '$(4,300)'],
  ['(1,250', 'Loss: (1,250)', '(1,250)'],
  ['-1,250', 'Loss: (1,250)', '-1,250'],
  // What brackets hold besides.
  ['$1,250', 'The fee ($1,250) is due.', '$1,250'],
  ['85.5%', 'The turnout (85.5%)\nwas high.', '85.5%'],
  ['1,250', 'The town has inhabitants (1,250) 3 schools and 4 churches.', '1,250'],
  ['65.2', 'Male 1,300 (65.2) 1,250 (62.0)', '65.2'],
  ['62.0', 'Male 1,300 (65.2) 1,250 (62.0)', '62.0'],
  ['75%', 'Yes 300 (75%)\nNo 100 (25%)', '75%'],
  ['2.1', 'Mean 3.5 (2.1)', '2.1'],
  ['2.4.1', 'Version: (2.4.1)', '2.4.1'],
  ['Version (2.4.1', 'Version (2.4.1)\nNotes', 'Version (2.4.1'],
  ['12.03.2020', 'Born: (12.03.2020)', '12.03.2020'],
  ['12.5', 'See equation (12.5)', '12.5'],
  ['555-1234', 'Call (555-1234)', '555-1234'],
  ['1.5', 'a 1.5- or 2-litre engine', '1.5'],
  ['2,4', '2,4- and 2,6-dinitrotoluene', '2,4'],
  ['1,200', 'an essay of 1,200- to 1,500 words', '1,200'],
  ['$100', 'Budget $100- $200', '$100'],
  ['10.30', 'Open 10.30-\n11.30', '10.30'],
  ['\u20ac50', 'Prices: \u20ac50\u2013, children \u20ac20\u2013', '\u20ac50'],
  ['01.02.2024', 'Valid 01.02.2024- until further notice', '01.02.2024'],
  ['1,250,000', 'The population (1,250,000) grew.', '1,250,000'],
  ['4.5%', 'The rate (4.5%) is fixed.', '4.5%'],
  ['1889', 'Gustave Eiffel built it: (1889)', '1889'],
  ['2019', 'He was its head from 2019-.', '2019'],
  ['1.5', 'The range is 1.5-2.0.', '1.5'],
  ['1,250', 'Net result: (1,250). Of 1,250 shops half closed.', '1,250'],
  ['250', 'Net result: (1,250).', '250'],
  ['1,250 and 300', 'Net result: (1,250) and (300)', '1,250 and 300'],
  ['(1,250)', 'Net result: (1,250)', '(1,250)'],
  ['Canberra', 'Net result: (1,250)', 'Canberra'],
  ['', 'Net result: (1,250)', ''],
] as const

t.test('an amount that accounts have as negative keeps its sign', (t) => {
  for (const [answer, passage, expected] of cases) t.equal(asSigned(answer, passage), expected, `${answer}, of ${passage}`)
  t.end()
})

t.test('a passage of spaces takes no time', (t) => {
  t.equal(asSigned('1,250', `: ${' '.repeat(1_000_000)}(1,250)`), '1,250')
  t.end()
})

t.test('a number may be negative where a passage has a sign', (t) => {
  for (const text of [
    '-5 degrees',
    'It is −5 °C.',
    '− 5 °C',
    '-$5',
    'minus five',
    'ten below zero',
    'A loss of 5.',
    '$(1,250)',
    '(1,250)',
    '250-',
    'in 44 BC',
  ])
    t.ok(NEGATIVE.test(text), text)
  const others = ['10 V', 'on 2024-03-05', '10-12 kg', '10 - 12 kg', 'BF-55120', 'a two-year plan', 'in 1931 (see 3)', 'five – or six', '']
  for (const text of others) t.notOk(NEGATIVE.test(text), text)
  for (const text of [' '.repeat(100_000), '('.repeat(100_000), '(1'.repeat(50_000), '1'.repeat(100_000)]) t.notOk(NEGATIVE.test(text))
  t.end()
})
