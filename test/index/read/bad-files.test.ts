import t from 'tap'
import { gzipSync } from 'node:zlib'
import type { ReadOptions } from '../../../index/read/contract.ts'
import { readPassages } from '../../../index/read/read.ts'
import type { ReadItem } from '../../../index/read/contract.ts'
import { makeZip } from '../../fixtures/zip.ts'

/** What one file gives: its rows as "line id: text", its rejected lines as "line reason", or the error it is refused with. */
interface Case {
  readonly file: string
  readonly content: string | Buffer
  readonly options?: ReadOptions
  readonly rows?: readonly string[]
  readonly rejects?: readonly string[]
  readonly refused?: { readonly code: string; readonly message: RegExp }
  /** Physical lines that are neither: the header, blank ones. */
  readonly aside?: number
}

const HEAD = 'id\ttext\ttitle\n'
const zipped = gzipSync(`${HEAD}${Array.from({ length: 500 }, (_, i) => `${i}\tpassage ${i * 7919}\tT\n`).join('')}`)
const bytes = (...parts: (string | number[])[]): Buffer => Buffer.concat(parts.map((part) => Buffer.from(part as string)))

const cases: readonly Case[] = [
  // Columns
  { file: 'empty', content: '', refused: { code: 'corpus_invalid', message: /empty/ } },
  { file: 'only blank lines', content: '\n\n\n', refused: { code: 'corpus_invalid', message: /empty/ } },
  { file: 'only a header', content: HEAD, refused: { code: 'corpus_invalid', message: /no passages/ } },
  { file: 'no header', content: '1\tx\tT\n2\ty\tU\n', refused: { code: 'corpus_invalid', message: /Line 1.*no column id and text/ } },
  { file: 'a header without text', content: 'id\ttitle\n1\tT\n', refused: { code: 'corpus_invalid', message: /no column text/ } },
  { file: 'a column twice', content: 'id\ttext\ttext\n1\tx\ty\n', refused: { code: 'corpus_invalid', message: /text twice/ } },
  { file: 'blank lines around the header', content: `\n\n${HEAD}\n1\tx\tT\n\n`, rows: ['5 1: x'], aside: 5 },
  { file: 'too few columns', content: `${HEAD}1\tx\n2\ty\tT\n`, rows: ['3 2: y'], rejects: ['2 missing_column'], aside: 1 },
  { file: 'too many columns', content: `${HEAD}1\tx\tT\tmore\n2\ty\tT\n`, rows: ['3 2: y'], rejects: ['2 malformed'], aside: 1 },
  {
    file: 'no ids',
    content: 'text\ttitle\nx\tT\n',
    refused: { code: 'corpus_invalid', message: /Line 1.*no column id .*let ids be generated \(ids: hash\)/ },
  },
  { file: 'spaces instead of tabs', content: 'id text title\n1 x T\n', refused: { code: 'corpus_invalid', message: /no column id/ } },
  { file: 'a header in capitals, more columns', content: 'ID\tText\tURL\n1\tx\tu\n', rows: ['2 1: x'], aside: 1 },
  { file: 'no newline at the end', content: `${HEAD}1\tx\tT`, rows: ['2 1: x'], aside: 1 },
  {
    file: 'lines that end with a carriage return alone',
    content: 'id\ttext\r1\tx\r',
    refused: { code: 'corpus_invalid', message: /carriage/ },
  },
  {
    file: 'a header repeated',
    content: `${HEAD}1\tx\tT\n${HEAD}2\ty\tT\n`,
    rows: ['2 1: x', '4 2: y'],
    rejects: ['3 malformed'],
    aside: 1,
  },
  // Quotes
  {
    file: 'a stray quote in front of a field, and another later',
    content: `${HEAD}1\t"It was late\tT\n2\tcold\tT\n3\tsize 5"\tT\n4\tend\tT\n`,
    rows: ['2 1: "It was late', '3 2: cold', '4 3: size 5"', '5 4: end'],
    aside: 1,
  },
  { file: 'a quoted first word', content: `${HEAD}1\t"Weird Al" Yankovic\tT\n`, rows: ['2 1: "Weird Al" Yankovic'], aside: 1 },
  { file: 'doubled quotes', content: `${HEAD}1\t"""Weird Al"" Yankovic"\tT\n`, rows: ['2 1: "Weird Al" Yankovic'], aside: 1 },
  { file: 'quotes inside a field', content: `${HEAD}1\tsay "yes" twice\tT\n`, rows: ['2 1: say "yes" twice'], aside: 1 },
  { file: 'a quoted tab', content: `${HEAD}1\t"a\tb"\tT\n`, rows: ['2 1: a\tb'], aside: 1 },
  { file: 'a quoted field over three lines', content: `${HEAD}1\t"a\nb\nc"\tT\n2\td\tT\n`, rows: ['2 1: a\nb\nc', '5 2: d'], aside: 1 },
  {
    file: 'a quote open to the end, without its other columns',
    content: `${HEAD}1\t"a\n2\tb\tT\n3\tc\tT\n`,
    rows: ['3 2: b', '4 3: c'],
    rejects: ['2 malformed'],
    aside: 1,
  },
  {
    file: 'a quote that stays open over more lines than a field may span',
    content: `${HEAD}1\t"a\n${'loose\n'.repeat(150)}2\tb\tT\n`,
    rows: ['153 2: b'],
    rejects: ['2 malformed', ...Array.from({ length: 150 }, (_, i) => `${i + 3} missing_column`)],
    aside: 1,
  },
  {
    file: 'quotes without meaning',
    content: `${HEAD}1\t"x"\tT\n2\t"y\tT\n`,
    options: { quotes: false },
    rows: ['2 1: "x"', '3 2: "y'],
    aside: 1,
  },
  { file: 'a quote open in the last line', content: `${HEAD}1\tx\tT\n2\t"y\tT\n`, rows: ['2 1: x', '3 2: "y'], aside: 1 },
  // Marks and encodings
  { file: 'a byte order mark', content: `\ufeff${HEAD}1\tx\tT\n`, rows: ['2 1: x'], aside: 1 },
  { file: 'files joined with their marks', content: `\ufeff${HEAD}1\tx\tT\n\ufeff2\ty\tT\n`, rows: ['2 1: x', '3 2: y'], aside: 1 },
  { file: 'a mark inside a JSON id', content: '{"id":"\\ufeff7","text":"x"}\n\ufeff{"id":8,"text":"y"}\n', rows: ['1 7: x', '2 8: y'] },
  { file: 'a mark and nothing else as the id', content: '{"id":"\\ufeff","text":"x"}\n', rejects: ['1 bad_id'] },
  {
    file: 'the mark of UTF-16 before anything else',
    content: Buffer.from([0xff, 0xfe, 0x00, 0xd8, 0x41, 0x00]),
    refused: { code: 'corpus_invalid', message: /UTF-16/ },
  },
  { file: 'UTF-16 without a mark', content: Buffer.from(`${HEAD}1\tx\tT\n`, 'utf16le'), rows: ['2 1: x'], aside: 2 },
  { file: 'zero bytes', content: `${HEAD}1\tx\0\tT\n`, refused: { code: 'corpus_invalid', message: /zero bytes/ } },
  {
    file: 'Latin-1',
    content: Buffer.from(`${HEAD}1\tcafé\tT\n2\ttea\tT\n`, 'latin1'),
    rows: ['3 2: tea'],
    rejects: ['2 bad_utf8'],
    aside: 1,
  },
  {
    file: 'a character cut in two',
    content: bytes(HEAD, '1\tx', [0xe2, 0x82], '\tT\n2\ty\tT\n'),
    rows: ['3 2: y'],
    rejects: ['2 bad_utf8'],
    aside: 1,
  },
  { file: 'an overlong encoding', content: bytes(HEAD, '1\t', [0xc0, 0xaf], '\tT\n'), rejects: ['2 bad_utf8'], aside: 1 },
  { file: 'control characters in an id', content: `${HEAD}a\u0007b\tx\tT\n`, rejects: ['2 bad_id'], aside: 1 },
  // Sizes
  {
    file: 'a huge line',
    content: `${HEAD}1\t${'x'.repeat(2 ** 24)}\tT\n2\ty\tT\n`,
    rows: ['3 2: y'],
    rejects: ['2 line_too_long'],
    aside: 1,
  },
  {
    file: 'a huge last line',
    content: `${HEAD}1\t${'x'.repeat(2 ** 24)}`,
    rejects: ['2 line_too_long'],
    aside: 1,
  },
  {
    file: 'a long text',
    content: `${HEAD}1\t${'x'.repeat(100_001)}\tT\n`,
    rejects: ['2 text_too_long'],
    aside: 1,
  },
  { file: 'a long title', content: `${HEAD}1\tx\t${'T'.repeat(2001)}\n`, rejects: ['2 title_too_long'], aside: 1 },
  { file: 'a long id', content: `${HEAD}${'1'.repeat(513)}\tx\tT\n`, rejects: ['2 bad_id'], aside: 1 },
  { file: 'empty texts and ids', content: `${HEAD}1\t \tT\n \tx\tT\n`, rejects: ['2 empty_text', '3 bad_id'], aside: 1 },
  { file: 'an id twice', content: `${HEAD}1\tx\tT\n1\ty\tT\n`, rows: ['2 1: x'], rejects: ['3 duplicate_id'], aside: 1 },
  // Compression
  {
    file: 'gzip cut off',
    content: zipped.subarray(0, zipped.length / 2),
    refused: { code: 'corpus_invalid', message: /damaged or cut off/ },
  },
  {
    file: 'gzip with a byte changed',
    content: Buffer.concat([zipped.subarray(0, 200), Buffer.from([(zipped[200] as number) ^ 255]), zipped.subarray(201)]),
    refused: { code: 'corpus_invalid', message: /damaged or cut off/ },
  },
  { file: 'gzip twice', content: gzipSync(zipped), refused: { code: 'corpus_invalid', message: /twice/ } },
  {
    file: 'a gzip bomb',
    content: gzipSync(Buffer.concat([Buffer.from(`${HEAD}1\t`), Buffer.alloc(80 * 2 ** 20, 'a')])),
    refused: { code: 'payload_too_large', message: /bomb/ },
  },
  {
    file: 'two gzip members',
    content: Buffer.concat([gzipSync(`${HEAD}1\tx\tT\n`), gzipSync('2\ty\tT\n')]),
    rows: ['2 1: x', '3 2: y'],
    aside: 1,
  },
  {
    file: 'a spreadsheet',
    content: makeZip([
      { name: '[Content_Types].xml', content: '<Types/>' },
      { name: 'xl/workbook.xml', content: '<workbook/>' },
    ]),
    refused: { code: 'corpus_invalid', message: /Office file: save a sheet as CSV/ },
  },
  { file: 'a ZIP archive', content: bytes([0x50, 0x4b, 3, 4], 'abc'), refused: { code: 'corpus_invalid', message: /ZIP/ } },
  { file: 'zstd', content: bytes([0x28, 0xb5, 0x2f, 0xfd], 'abc'), refused: { code: 'corpus_invalid', message: /zstd.*(damaged|Node)/ } },
  { file: 'a PDF', content: '%PDF-1.7\n', refused: { code: 'corpus_invalid', message: /PDF/ } },
  // JSON
  {
    file: 'JSON lines of wrong types',
    content: [
      '{"id":1,"title":1984,"text":"a","source":2.5}',
      '{"id":2,"title":["T"],"text":"b"}',
      '{"id":3,"text":"c","source":{"a":1}}',
      '{"id":4,"text":"d","title":true}',
      '{"id":5,"text":["e"]}',
      '{"id":6,"text":"f","title":null}',
      '{"id":1.5,"text":"g"}',
      'null',
      '"text"',
    ].join('\n'),
    rows: ['1 1: a', '5 5: e', '6 6: f'],
    rejects: ['2 malformed', '3 malformed', '4 malformed', '7 bad_id', '8 malformed', '9 malformed'],
  },
  {
    file: 'names that an object has twice',
    content:
      '{"id":1,"text":"a","text":"b"}\n{"id":2,"text":"a \\"text\\":","metadata":{"k":1,"k":2}}\n{"id":3,"text":"c","\\"x":{"text":1}}\n',
    rows: ['3 3: c'],
    rejects: ['1 malformed', '2 malformed'],
  },
  {
    file: 'a name with an escape that JSON does not have',
    content: '{"id":1,"text":"a"}\n{"id":2,"te\\xt":"b"}\n{"id":3,"text":"c"}\n',
    rows: ['1 1: a', '3 3: c'],
    rejects: ['2 malformed'],
  },
  { file: 'JSON lines cut off', content: '{"id":1,"text":"a"}\n{"id":2,"te', rows: ['1 1: a'], rejects: ['2 malformed'] },
  { file: 'JSON lines with blank ones', content: '{"id":1,"text":"a"}\n\n  \n{"id":2,"text":"b"}\n', rows: ['1 1: a', '4 2: b'], aside: 2 },
  {
    file: 'half a surrogate pair',
    content:
      '{"id":"\\ud800","text":"a"}\n{"id":2,"text":"\\udc00b"}\n{"id":3,"text":"c","title":"\\ud83d"}\n{"id":4,"text":"\\ud83d\\ude00"}\n',
    rows: ['4 4: \ud83d\ude00'],
    rejects: ['1 bad_id', '2 malformed', '3 malformed'],
  },
  {
    file: 'a JSON array over lines',
    content: '[\n{"id":1,\n"text":"a, ]"},\n{"id":2,"text":"b\\"}"}, 5\n]\n',
    rows: ['1 1: a, ]', '2 2: b"}'],
    rejects: ['3 malformed'],
  },
  { file: 'a JSON array cut off', content: '[{"id":1,"text":"a"},\n{"id":2', rows: ['1 1: a'], rejects: ['2 malformed'] },
  // CSV
  { file: 'CSV', content: 'id,text,title\n1,"a, ""b""\nc",T\n2,d,T\n', rows: ['2 1: a, "b"\nc', '4 2: d'], aside: 1 },
  { file: 'CSV with semicolons', content: '\ufeffid;text\r\n1;a,b\r\n', rows: ['2 1: a,b'], aside: 1 },
  { file: 'CSV with too few columns', content: 'id,text,title\n1,a\n2,b,T\n', rows: ['3 2: b'], rejects: ['2 missing_column'], aside: 1 },
  {
    file: 'CSV with a quote that nothing closes',
    content: 'id,text\n1,a\n2,"b\n3,c\n4,d\n',
    rows: ['2 1: a'],
    rejects: ['3-5 malformed'],
    aside: 1,
  },
  {
    file: 'CSV in Latin-1',
    content: Buffer.from('id,text\n1,café\n2,tea\n', 'latin1'),
    rows: ['3 2: tea'],
    rejects: ['2 bad_utf8'],
    aside: 1,
  },
]

async function* pieces(whole: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < whole.length; at += size) {
    await Promise.resolve()
    yield whole.subarray(at, at + size)
  }
}

async function read(content: Buffer, options: ReadOptions | undefined, size: number): Promise<ReadItem[]> {
  const items: ReadItem[] = []
  for await (const item of readPassages(pieces(content, size), options)) items.push(item)
  return items
}

function physicalLines(content: Buffer): number {
  const text = content.toString('latin1')
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}

for (const { file, content, options, rows = [], rejects = [], refused, aside = 0 } of cases) {
  await t.test(file, async (t) => {
    const whole = Buffer.from(content as string)
    // In one piece, and so that every boundary falls inside something; bombs only in pieces of some size.
    for (const size of whole.length > 5000 ? [whole.length, 4096] : [whole.length || 1, 3]) {
      if (refused !== undefined) {
        await t.rejects(read(whole, options, size), refused)
        continue
      }
      const items = await read(whole, options, size)
      t.same(
        items.flatMap((item) => ('passage' in item ? [`${item.line} ${item.passage.id}: ${item.passage.text}`] : [])),
        rows,
      )
      t.same(
        items.flatMap(({ line, lines = 1, ...item }) =>
          'reason' in item ? [`${line}${lines > 1 ? `-${line + lines - 1}` : ''} ${item.reason}`] : [],
        ),
        rejects,
      )
      t.ok(
        items.every((item) => 'passage' in item || item.detail.endsWith('.')),
        'each reject says why',
      )
      if (whole[0] !== 0x1f && whole[0] !== 0x5b)
        t.equal(
          items.reduce((sum, { lines = 1 }) => sum + lines, aside),
          physicalLines(whole),
          'each line is counted',
        )
    }
  })
}

await t.test('at least forty kinds of bad files', (t) => {
  t.ok(cases.length >= 40, `${cases.length}`)
  t.end()
})
