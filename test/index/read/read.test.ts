import t from 'tap'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { ReadOptions } from '../../../index/read/contract.ts'
import { parseColumns } from '../../../index/read/column-map.ts'
import { readPassageFile, readPassages } from '../../../index/read/read.ts'
import type { ReadItem } from '../../../index/read/contract.ts'
import type { Passage } from '../../../index/contract.ts'
import { readArrayElements } from '../../../index/read/formats/json-array.ts'
import { boundedCompressors } from '../../../index/read/formats/parquet-bounds.ts'
import { splitDocument } from '../../../index/read/units.ts'
import { tempDir } from '../helpers.ts'

/** Fed in small pieces, so that every boundary falls inside something. */
async function* pieces(bytes: Buffer, size = 7): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) {
    await Promise.resolve()
    yield bytes.subarray(at, at + size)
  }
}

async function read(content: string | Buffer, options?: ReadOptions, size?: number): Promise<ReadItem[]> {
  const items: ReadItem[] = []
  for await (const item of readPassages(pieces(Buffer.from(content), size), options)) items.push(item)
  return items
}

function split(document: Passage, target?: number) {
  return Array.from(splitDocument(document, target), ({ passage }) => passage)
}

function passages(items: ReadItem[]) {
  return items.flatMap((item) => ('passage' in item ? [item.passage] : []))
}
function rejects(items: ReadItem[]) {
  return items.flatMap((item) => ('reason' in item ? [[item.line, item.reason]] : []))
}

await t.test('tsv: columns by header, CSV quoting, CRLF, byte order mark', async (t) => {
  const items = await read('\ufeffid\ttitle\ttext\r\n1\tOil\t"He said ""no"", twice.\nThen left."\r\n2\t\tplain "inner" quotes\r\n')
  t.same(items, [
    { line: 2, lines: 2, passage: { id: '1', title: 'Oil', text: 'He said "no", twice.\nThen left.' } },
    { line: 4, passage: { id: '2', title: '', text: 'plain "inner" quotes' } },
  ])
})

await t.test('csv: names in quotes after a byte order mark', async (t) => {
  t.same(passages(await read('\ufeff"id","text"\r\n"1","a ""b"", c"\r\n')), [{ id: '1', title: '', text: 'a "b", c' }])
})

await t.test('tsv: line breaks and blanks inside fields stay as they are', async (t) => {
  const rows = 'id\ttitle\ttext\r\n1\t A \t"one\r\ntwo\nthree "\r\n2\t"\tB"\t  four\u00a0\r\n'
  t.same(passages(await read(rows)), [
    { id: '1', title: ' A ', text: 'one\r\ntwo\nthree ' },
    { id: '2', title: '\tB', text: '  four\u00a0' },
  ])
})

await t.test('tsv: psgs_w100 order, a last line without a newline, sources', async (t) => {
  t.same(passages(await read('id\ttext\ttitle\n1\ta b\tT', { source: 'file.tsv' })), [
    { id: '1', title: 'T', text: 'a b', source: 'file.tsv' },
  ])
  t.same(
    passages(await read('id\ttext\tsource\n1\ta\tweb\n2\tb\t', { source: 'file.tsv' })).map((p) => p.source),
    ['web', 'file.tsv'],
  )
})

await t.test('tsv: bad lines are rejected by themselves, with their numbers', async (t) => {
  const bad = Buffer.concat([
    Buffer.from('id\ttext\ttitle\n1\tfine\tA\n2\tno title column\n3\t \tempty\n'),
    Buffer.from('4\tb'),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('d\tutf8\n\tno id\tB\n5\t"never closed\tC\n6\tstill read\tD\n1\tagain\tE\n7\ta\tb\tc\n'),
    Buffer.from(`8\t${'x'.repeat(100_001)}\tF\n9\t${'y'.repeat(2 ** 24)}\tG\n`),
  ])
  const items = await read(bad, {}, 4096)
  t.same(rejects(items), [
    [3, 'missing_column'],
    [4, 'empty_text'],
    [5, 'bad_utf8'],
    [6, 'bad_id'],
    [9, 'duplicate_id'],
    [10, 'malformed'],
    [11, 'text_too_long'],
    [12, 'line_too_long'],
  ])
  t.same(
    passages(items).map((p) => p.id),
    ['1', '5', '6'],
  )
})

await t.test('tsv: files without a usable header are refused whole', async (t) => {
  await t.rejects(read('a\tb\n1\t2\n'), { code: 'corpus_invalid', field: 'id', message: /header/ })
  await t.rejects(read('id\ttitle\n1\t2\n'), { code: 'corpus_invalid', field: 'text' })
  await t.rejects(read(''), { code: 'corpus_invalid', message: /empty/ })
  await t.rejects(read('id\ttext\n'), { code: 'corpus_invalid', message: /no passages/ })
})

await t.test('jsonl: the three shapes and their errors', async (t) => {
  const lines = [
    '{"id": 7, "title": "T", "text": "atlas"}',
    '{"_id": "b1", "title": "", "text": "beir", "metadata": {}}',
    '{"id": "c1", "contents": "\\"Quoted\\"\\nflashrag text"}',
    '{"id": 12345678901234567890, "text": "x"}',
    '{"id": "a\\u0007b", "text": "x"}',
    '{"id": "\\ud800", "text": "x"}',
    '{"id": true, "text": "x"}',
    '{"id": "n", "text": 5}',
    '{"text": "x"}',
    '{"id": "m"}',
    '[1]',
    '{"id": "cut", "te',
  ]
  const items = await read(lines.join('\n'))
  t.same(passages(items), [
    { id: '7', title: 'T', text: 'atlas' },
    { id: 'b1', title: '', text: 'beir' },
    { id: 'c1', title: 'Quoted', text: 'flashrag text' },
  ])
  t.same(rejects(items), [
    [4, 'bad_id'],
    [5, 'bad_id'],
    [6, 'bad_id'],
    [7, 'bad_id'],
    [8, 'malformed'],
    [9, 'missing_column'],
    [10, 'missing_column'],
    [11, 'malformed'],
    [12, 'malformed'],
  ])
})

await t.test('columns of a table that are not read are named once, with the first row that has it', async (t) => {
  const warnings = async (content: string, options?: ReadOptions) =>
    (await read(content, options)).map((item) => ('passage' in item ? (item.warnings ?? []).join() : item.reason))
  const notRead = (names: string) => `Not read: the columns ${names}. Name them in columns (metadata.<name>=<column>) to keep them.`
  t.same(await warnings('id,text,author,year\n1,a,Ann,7\n2,b,Bo,8\n'), [notRead('author, year'), ''])
  t.same(await warnings('id\ttext\tauthor\n1\ta\tAnn\n'), [notRead('author')])
  t.same(
    await warnings('{"id":1,"text":"a"}\n{"_id":2,"text":"b","year":7}\n{"id":3,"_id":4,"text":"c","year":8,"url":"u","source":"s"}'),
    ['', notRead('year'), notRead('_id, url')],
  )
  const columns = { fields: { text: 'body.en' }, metadata: [{ name: 'year', column: 'year' }], isNumbered: false }
  t.same(await warnings('{"id":1,"body":{"en":"a","de":"b"},"year":7,"text":"c"}', { shape: { columns } }), [notRead('text')])
  t.same(await warnings('id,text,metadata\n1,a,\n', { metadata: false }), [''])
  t.same(await warnings('id,text\n1,a\n', { shape: { ids: 'line' } }), [''])
})

await t.test('contents begin with their title, unless the line names another', async (t) => {
  const lines = ['{"id":1,"contents":"Oil\\nrape","title":"Lamps"}', '{"id":2,"contents":"Oil\\nrape","title":"Oil "}']
  t.same(passages(await read(lines.join('\n'))), [
    { id: '1', title: 'Lamps', text: 'Oil\nrape' },
    { id: '2', title: 'Oil', text: 'rape' },
  ])
})

await t.test('text after a JSON array is rejected; a further array is read', async (t) => {
  const [first, second] = ['[{"id":1,"text":"a"}]', '[{"id":2,"text":"b"}]']
  t.same(rejects(await read(`${first}\n{"id":2,"text":"b"}`)), [[2, 'malformed']])
  const both = await read(`${first}\n\ufeff${second}\n`)
  t.same([passages(both).map(({ text }) => text), rejects(both)], [['a', 'b'], []])
})

await t.test('gzip is recognised, cut-off streams and bombs are refused', async (t) => {
  const plain = 'id\ttext\n' + Array.from({ length: 500 }, (_, i) => `${i}\tpassage number ${i}\n`).join('')
  t.equal(passages(await read(gzipSync(plain))).length, 500)
  t.equal(passages(await read(gzipSync('{"id":1,"text":"x"}\n'))).length, 1)
  await t.rejects(read(gzipSync(plain).subarray(0, 400)), { code: 'corpus_invalid', message: /cut off/ })
  const bomb = gzipSync(Buffer.concat([Buffer.from('id\ttext\n1\t'), Buffer.alloc(80 * 2 ** 20, 'a')]))
  await t.rejects(read(bomb, {}, 4096), { code: 'payload_too_large', message: /bomb/ })
})

await t.test('an error of the source itself passes through the gzip reader', async (t) => {
  const cut = async function* (): AsyncGenerator<Buffer> {
    await Promise.resolve()
    yield gzipSync('id\ttext\n1\tx\n').subarray(0, 20)
    throw new Error('connection lost')
  }
  await t.rejects(
    (async () => {
      for await (const _ of readPassages(cut()));
    })(),
    { message: 'connection lost' },
  )
})

await t.test('files: missing, folders, streams of Parquet', async (t) => {
  const dir = await tempDir(t)
  const drain = async (path: string): Promise<number> => {
    let items = 0
    for await (const _ of readPassageFile(path)) items++
    return items
  }
  await t.rejects(drain(join(dir, 'none.tsv')), { code: 'not_found' })
  await mkdir(join(dir, 'folder'))
  await t.rejects(drain(join(dir, 'folder')), { code: 'corpus_invalid' })
  await writeFile(join(dir, 'broken.parquet'), 'PAR1 and nothing behind it')
  await t.rejects(drain(join(dir, 'broken.parquet')), { code: 'corpus_invalid', message: /Parquet/ })
  await writeFile(join(dir, 'zeros.parquet'), `PAR1${'\0'.repeat(100)}PAR1`)
  await t.rejects(drain(join(dir, 'zeros.parquet')), { message: 'The Parquet file cannot be read: it is damaged.' })
  await t.rejects(read('PAR1....'), { code: 'unsupported_media_type' })
  await writeFile(join(dir, 'ok.jsonl'), '{"id":"1","text":"x"}\n')
  t.equal(await drain(join(dir, 'ok.jsonl')), 1)
})

await t.test('parquet: rows of a file, checked as any others', async (t) => {
  const items: ReadItem[] = []
  for await (const item of readPassageFile('test/fixtures/index/passages.parquet', { source: 'pq' })) items.push(item)
  t.same(passages(items), [
    { id: 'a', title: 'A', text: 'first passage', source: 'pq' },
    { id: 'b', title: 'B', text: 'second "quoted"\tpassage', source: 'pq' },
    { id: 'c', title: '', text: 'third', source: 'pq' },
    { id: 'e', title: 'E', text: 'fünf', source: 'pq' },
  ])
  t.same(rejects(items), [[4, 'empty_text']])
  const first = async (path: string) => {
    for await (const item of readPassageFile(path)) return item
    return undefined
  }
  await t.rejects(first('test/fixtures/index/no-text.parquet'), { code: 'corpus_invalid', message: /no column text/ })
  const twice = { code: 'corpus_invalid', message: /names the column metadata\.o\.k twice: keep one/ }
  await t.rejects(first('test/fixtures/index/twice.parquet'), twice)
})

await t.test('parquet: text that is not UTF-8 is rejected, and a date is no time', async (t) => {
  const items: ReadItem[] = []
  for await (const item of readPassageFile('test/fixtures/index/broken-text.parquet')) items.push(item)
  t.same(passages(items), [{ id: '1', title: '', text: 'fünf', metadata: { day: '2024-05-31', mark: 'a' } }])
  t.same(rejects(items), [[2, 'bad_utf8']])
})

await t.test('parquet: decimals and fractions of a second keep their digits, and empty structs are absent', async (t) => {
  const all = async (name: string) => {
    const items: ReadItem[] = []
    for await (const item of readPassageFile(`test/fixtures/index/${name}.parquet`)) items.push(item)
    return passages(items).map(({ title, metadata }) => [title, metadata])
  }
  t.same(await all('digits'), [
    ['1.15', { price: 1.15, at: '2024-05-31T14:30:01.123456', ns: '2024-05-31T14:30:01.123456789' }],
    ['8.2', { price: 1.1, at: '1960-01-01T00:00:00.000001', ns: '1969-12-31T23:59:59.999999999' }],
    ['-0.07', { price: 123456789012.34, at: '2024-05-31T14:30:01.000', ns: '2024-05-31T14:30:01.000' }],
  ])
  // Local times name no zone.
  const [local, noon] = ['2024-05-31T14:30:00.250', '2024-05-31T14:30:00.000']
  t.same(await all('zones'), [
    ['', { local, ms: noon, ns: noon, utc: `${local}Z` }],
    ['', { local: '1969-12-31T23:59:59.999999', ms: noon, ns: noon, utc: '1969-12-31T23:59:59.999999Z' }],
    ['', { ms: noon, ns: noon }],
  ])
  // Numbers of 32 bits have the digits that they were written with.
  t.same(await all('floats'), [
    ['1.1', { share: 0.1, rate: 0.1 }],
    ['2', { share: 0.33333334, rate: 1 / 3 }],
  ])
  t.same(await all('struct'), [
    ['', { p: 1.15 }],
    ['', { p: null }],
  ])
})

await t.test('parquet that is asked for and is none says so, whatever it is', async (t) => {
  const file = join(t.testdir({ 'c.jsonl': '{"id": "1", "text": "a"}\n' }), 'c.jsonl')
  const read = async (path: string): Promise<void> => {
    for await (const _ of readPassageFile(path, { format: 'parquet' })) continue
  }
  await t.rejects(read(file), { code: 'corpus_invalid', message: /is no Parquet/ })
  await writeFile(`${file}.gz`, gzipSync('PAR1'))
  await t.rejects(read(`${file}.gz`), { code: 'unsupported_media_type', message: /or from gzip/ })
})

await t.test('parquet: every compression in use, and metadata as JSON', async (t) => {
  for (const codec of ['none', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4']) {
    const items: ReadItem[] = []
    for await (const item of readPassageFile(`test/fixtures/index/harbours-${codec}.parquet`)) items.push(item)
    t.equal(passages(items).length, 40, codec)
    t.same(passages(items)[5], {
      id: 'p5',
      title: 'Harbour 0',
      text: "The ferry number 5 leaves the old harbour at 5 o'clock and returns by night.",
      metadata: { tags: ['ferry', 'line 2'], year: 1985 },
    })
    t.notOk('metadata' in (passages(items)[4] ?? {}))
  }
})

await t.test('parquet: small files of large rows are refused as bombs, and never held whole', async (t) => {
  const accepted = async (path: string): Promise<number> => {
    let count = 0
    for await (const item of readPassageFile(path)) if ('passage' in item) count++
    return count
  }
  // One text of 99 kB in a dictionary, and 1,000 rows that name it; 90 texts of a megabyte each in pages of their own.
  for (const file of ['bomb-dictionary', 'bomb-pages'])
    await t.rejects(
      accepted(`test/fixtures/index/${file}.parquet`),
      { code: 'payload_too_large', message: /rejected as a decompression bomb/ },
      file,
    )
  const { GZIP: expand } = boundedCompressors(1000)
  t.equal(expand?.(gzipSync(Buffer.alloc(600)), 600).length, 600)
  t.throws(() => expand?.(gzipSync(Buffer.alloc(600)), 600), { code: 'payload_too_large', message: /at a time expand/ })
})

await t.test('parquet: metadata in columns of their own keeps its types; structs are read as objects, or left unread', async (t) => {
  const all = async (name: string, options?: ReadOptions) => {
    const items: ReadItem[] = []
    for await (const item of readPassageFile(`test/fixtures/index/${name}.parquet`, options)) items.push(item)
    return passages(items)
  }
  t.same(
    (await all('typed-metadata')).map(({ metadata }) => metadata),
    [
      { day: '1970-01-01T00:00:00.000', open: true, year: 1980 },
      { day: '1970-01-02T00:00:00.000', open: false },
      { year: 1982 },
      { day: '1970-01-03T00:00:00.000', open: true, year: 1983 },
    ],
  )
  t.same(
    (await all('nested-metadata')).map(({ metadata }) => metadata),
    [
      { id: 1, year: 1980 },
      { id: 2, year: 1981 },
    ],
  )
  t.same(
    (await all('nested-metadata', { metadata: false })).map(({ id, metadata }) => [id, metadata]),
    [
      ['p0', undefined],
      ['p1', undefined],
    ],
  )
})

await t.test('metadata in JSON lines, as JSON in a column, and in columns of its own', async (t) => {
  const wanted = [{ lang: 'en', year: 1999 }, undefined]
  const of = async (content: string, options?: ReadOptions) => passages(await read(content, options)).map(({ metadata }) => metadata)
  t.same(await of('{"id":"1","text":"x","metadata":{"year":1999,"lang":"en"}}\n{"id":"2","text":"y","metadata":{}}\n'), wanted)
  t.same(await of('id\ttext\tmetadata\n1\tx\t"{""year"":1999,""lang"":""en""}"\n2\ty\t\n'), wanted)
  t.same(await of('id,text,metadata\n1,x,"{""year"":1999,""lang"":""en""}"\n2,y,\n'), wanted)
  t.same(await of('id,text,metadata.Year,metadata.lang\n1,x,1999,en\n2,y,,\n'), [{ Year: '1999', lang: 'en' }, undefined])
  t.same(await of('{"id":"1","text":"x","metadata":{"a":{"b":1}}}\n', { metadata: false }), [undefined])
  for (const table of ['id\ttext\tmetadata\n1\tx\t{"a":1,"a":2}\n', 'id,text,metadata\n1,x,"{""a"":1,""a"":2}"\n'])
    t.match(await read(table), [{ line: 2, reason: 'bad_metadata', detail: 'The metadata has the name "a" twice: keep one.' }])
  t.same(rejects(await read('{"id":"1","text":"x","metadata":{"a":{"b":1}}}\n{"id":"2","text":"y","metadata":"word"}\n')), [
    [2, 'bad_metadata'],
  ])
  await t.rejects(read('id,text,metadata,metadata.a\n1,x,,\n'), { code: 'corpus_invalid', field: 'metadata' })
  await t.rejects(read('id,text,metadata.a,metadata.a\n1,x,,\n'), { code: 'corpus_invalid', message: /twice/ })
  const columns = parseColumns('metadata.language=lang')
  for (const table of ['id,text,lang,lang\n1,x,en,de\n', 'id\ttext\tLang\tlang\n1\tx\ten\tde\n'])
    await t.rejects(read(table, { shape: { columns } }), {
      code: 'corpus_invalid',
      field: 'lang',
      message: 'Line 1: the header names the column lang twice: keep one.',
    })
  const parts = [...splitDocument({ id: 'd', title: '', text: 'One. Two. Three.', metadata: { a: 1 } }, 1)]
  t.ok(parts.length > 1 && parts.every(({ passage }) => passage.metadata?.a === 1), 'every part of a document has its metadata')
})

await t.test('documents are split near a hundred words, at sentence ends', async (t) => {
  const sentence = 'This sentence has exactly eight words in it.'
  const parts = split({ id: 'd', title: 'T', text: Array.from({ length: 40 }, () => sentence).join(' '), source: 's' })
  t.same(
    parts.map((p) => p.id),
    ['d#1', 'd#2', 'd#3'],
  )
  t.ok(parts.every((p) => p.title === 'T' && p.source === 's' && p.text.endsWith('it.')))
  t.same(
    parts.map((p) => p.text.split(' ').length),
    [104, 104, 112],
  )
  const endless = split({ id: 'e', title: '', text: Array.from({ length: 301 }, (_, i) => `w${i}`).join(' ') })
  t.equal(
    endless
      .map((p) => p.text)
      .join(' ')
      .split(' ').length,
    301,
  )
  t.ok(endless.every((p) => p.text.split(' ').length <= 125))
  t.same(split({ id: 's', title: '', text: 'short' }), [{ id: 's#1', title: '', text: 'short' }])
  const items = await read(`id\ttext\n1\t${'word '.repeat(250)}\n`, { splitWords: 100 })
  t.same(
    passages(items).map((p) => p.id),
    ['1#1', '1#2'],
  )
})

await t.test('scripts without spaces, and runs without any, give passages of sane size', (t) => {
  const texts = {
    chinese: '北京是中华人民共和国的首都，也是全国的政治中心和文化中心。'.repeat(60),
    japanese: 'ひらがなとカタカナと漢字を使って文章を書きます'.repeat(80),
    thai: 'กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย'.repeat(60),
    base64: 'QUJD'.repeat(5000),
    emoji: '😀'.repeat(5000),
    mixed: `Latin words before. ${'漢字'.repeat(3000)} and after.`,
  }
  for (const [name, text] of Object.entries(texts)) {
    const parts = split({ id: name, title: '', text })
    t.ok(parts.length > 1, `${name}: ${parts.length} parts`)
    t.ok(
      parts.every((part) => part.text.length <= 6000 && !/\p{Surrogate}/u.test(part.text)),
      `${name}: ${Math.max(...parts.map((part) => part.text.length))} characters at most`,
    )
    t.equal(
      parts
        .map((part) => part.text)
        .join('')
        .replace(/\s/g, ''),
      text.replace(/\s/g, ''),
      `${name}: nothing is lost`,
    )
  }
  t.equal(split({ id: 'd', title: '', text: texts.chinese })[0]?.text.includes(' '), false)
  for (const text of [texts.chinese, texts.japanese, texts.thai])
    for (const { length } of split({ id: 'd', title: '', text })
      .map((part) => part.text)
      .slice(0, -1))
      t.ok(length >= 190 && length <= 300, `${length} characters`)
  t.end()
})

await t.test('what stands between sentences is kept, and nothing is put there', (t) => {
  const text = 'if (a != b) stop!\n\n\tSee x?y:z.  Two spaces.船来了。人走了。'
  t.same(split({ id: 'd', title: '', text: ` ${text}\n` }), [{ id: 'd#1', title: '', text }])
  t.end()
})

await t.test('the last part says how many there are', (t) => {
  t.same(
    Array.from(splitDocument({ id: 'd', title: '', text: 'word '.repeat(250) }), ({ passage, parts }) => [passage.id, parts]),
    [
      ['d#1', undefined],
      ['d#2', 2],
    ],
  )
  t.end()
})

await t.test('elements of an array under a key come out whole wherever the text is cut', async (t) => {
  const document = '{"a": {"Data": [0]}, "b": "[\\"", "Data" : [ {"x": "],}\\\\\\"", "y": [1, [2]]} , "s,]", 3 ], "c": [4]}'
  for (let size = 1; size < 20; size++) {
    const elements: unknown[] = []
    for await (const element of readArrayElements(pieces(Buffer.from(document), size), Infinity, 'Data'))
      elements.push('text' in element ? JSON.parse(element.text) : element)
    t.same(elements, [{ x: '],}\\"', y: [1, [2]] }, 's,]', 3], `cut every ${size} bytes`)
  }
})
