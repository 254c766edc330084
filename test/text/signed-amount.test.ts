import t from 'tap'
import { asSigned } from '../../src/text/signed-amount.ts'

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
  // What brackets hold besides.
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
