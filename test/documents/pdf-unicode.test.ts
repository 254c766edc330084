import { deflateSync, inflateSync } from 'node:zlib'
import t from 'tap'
import { withFullStops } from '../../src/documents/blocks/pdf-unicode.ts'

const PLAIN = ['20', '41', '42', '43', '44', '45', '46'].map((code) => `<${code}> <00${code}>`).join('\n')

/** The entries of a map after it was read. */
function entriesOf(map: string): string {
  const pdf = Buffer.concat([
    Buffer.from('stream\r\n'),
    deflateSync(`/CIDInit\nbegincmap beginbfchar\n${map}\nendbfchar`),
    Buffer.from('\nendstream'),
  ])
  const read = Buffer.from(withFullStops(pdf))
  t.equal(read.length, pdf.length, 'no place in the file is moved')
  return inflateSync(read.subarray(8))
    .toString('latin1')
    .replace(/\s+/g, ' ')
    .replace(/^.*?beginbfchar | ?endbfchar/g, '')
}

t.test('signs that a map has as spaces are mended, and nothing else', (t) => {
  const plain = PLAIN.replace(/\s+/g, ' ')
  for (const [given, expected] of [
    ['<2E> <0020002E>', '<2E> <002E>'],
    ['<2e> <2e> <0020002e>', '<2e> <2e> <002e>'],
    ['<2E> <0020>', '<2E> <002e>'],
    // A range, of which this is the end.
    ['<5F> <7E> <0020>', '<5F> <7E> <0020>'],
    ['<5F> <7E> <0020002E>', '<5F> <7E> <0020002E>'],
    // An accent by itself; a code of two bytes; a letter of several.
    ['<B4> <00200301>', '<B4> <00200301>'],
    ['<F0> <0020064B>', '<F0> <0020064B>'],
    ['<002E> <0020>', '<002E> <0020>'],
    ['<A0> <0020>', '<A0> <0020>'],
    ['<1F> <00660069>', '<1F> <00660069>'],
  ] as const)
    t.match(entriesOf(`${PLAIN}\n${given}`), new RegExp(`^${plain} ${expected}$`, 'i'), given)
  t.equal(entriesOf('<21> <0020>\n<22> <0041>'), '<21> <0020> <22> <0041>', 'a space by the code of another letter')
  t.end()
})

t.test('a map of one line keeps its entries, and loses only what names it', (t) => {
  const names = '/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def /CMapName /Adobe-Identity-UCS def /CMapType 2 def'
  const map = (stop: string, named: string) =>
    `begincmap ${named}1 begincodespacerange <00> <FF> endcodespacerange 8 beginbfchar ${PLAIN.replace(/\n/g, ' ')} <2E> <${stop}> endbfchar endcmap CMapName currentdict /CMap defineresource pop`
  const pdf = Buffer.concat([Buffer.from('stream\n'), deflateSync(map('0020', `${names} `)), Buffer.from('\nendstream')])
  t.equal(inflateSync(withFullStops(pdf).subarray(7)).toString('latin1').replace(/\s+/g, ' '), map('002E', ''))
  t.end()
})

t.test('many streams that have one end, or are damaged maps, take no more time than their number', { timeout: 20_000 }, (t) => {
  const damaged = Buffer.concat([Buffer.from('stream\n'), deflateSync(`begincmap ${' '.repeat(2 ** 16)}`).subarray(0, -5)])
  for (const pdf of [
    Buffer.from(`${'stream\n'.repeat(2 ** 18)}endstream`),
    Buffer.concat([...Array<Buffer>(2 ** 16).fill(damaged), Buffer.from('endstream')]),
  ])
    t.ok(pdf.equals(withFullStops(pdf)))
  t.end()
})

t.test('what is no map stays as it is', (t) => {
  for (const text of [
    '',
    'stream',
    'stream\nendstream',
    'stream\r\nx\xda\x00endstream',
    `stream\n${deflateSync('BT (. )').toString('latin1')}endstream`,
  ]) {
    const bytes = Buffer.from(text, 'latin1')
    t.ok(bytes.equals(withFullStops(bytes)), text.slice(0, 20))
  }
  t.end()
})
