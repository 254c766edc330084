import t from 'tap'
import zlib from 'node:zlib'
import { parseColumns, type MadeIds } from '../../../index/read/column-map.ts'
import type { ReadOptions } from '../../../index/read/contract.ts'
import { readPassageFile, readPassages } from '../../../index/read/read.ts'
import type { ReadItem } from '../../../index/read/contract.ts'

function shaped(columns?: string, ids?: MadeIds): ReadOptions {
  return { shape: { columns: columns === undefined ? undefined : parseColumns(columns), ids } }
}

async function all(items: AsyncIterable<ReadItem>): Promise<ReadItem[]> {
  const found: ReadItem[] = []
  for await (const item of items) found.push(item)
  return found
}

async function* pieces(bytes: Buffer, size = 5): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) {
    await Promise.resolve()
    yield bytes.subarray(at, at + size)
  }
}

function read(content: string | Buffer, options?: ReadOptions): Promise<ReadItem[]> {
  return all(readPassages(pieces(Buffer.from(content as string)), options))
}

/** Passages as `id|title|text`. */
async function said(items: Promise<ReadItem[]>): Promise<string[]> {
  return (await items).map((item) =>
    'passage' in item ? `${item.passage.id}|${item.passage.title}|${item.passage.text}` : `${item.line} ${item.reason}`,
  )
}

await t.test('columns are named by the order, in every text format', async (t) => {
  const wanted = ['7|Port|The port.', '8|Lamp|The lamp.']
  const options = shaped('text=Content,id=docid,title=name')
  t.same(await said(read('docid\tname\tcontent\n7\tPort\tThe port.\n8\tLamp\tThe lamp.\n', options)), wanted)
  t.same(await said(read('name,docid,content\nPort,7,The port.\nLamp,8,The lamp.\n', options)), wanted)
  const rows = [
    { docid: 7, name: 'Port', content: 'The port.' },
    { docid: '8', name: 'Lamp', content: 'The lamp.' },
  ]
  const json = shaped('text=content,id=docid,title=name')
  t.same(await said(read(rows.map((row) => JSON.stringify(row)).join('\n'), json)), wanted)
  t.same(await said(read(JSON.stringify(rows), json)), wanted)
  t.same(
    await said(read('{"a":{"b":"The port."},"a.c":"Port","id":7}\n', shaped('text=a.b,title=a.c'))),
    ['7|Port|The port.'],
    'members of members',
  )
  await t.rejects(read('id\ttext\n1\tx\n', options), {
    code: 'corpus_invalid',
    field: 'docid',
    message: /no column docid and Content and name/,
  })
})

await t.test('metadata from columns that the order names', async (t) => {
  const of = async (content: string, columns: string) =>
    (await read(content, shaped(columns))).map((item) => ('passage' in item ? item.passage.metadata : item.reason))
  t.same(await of('id,text,year,metadata.x\n1,a,1999,y\n', 'metadata.Published=year'), [{ Published: '1999' }])
  t.same(await of('{"id":1,"text":"a","year":1999,"metadata":{"x":1}}\n', 'metadata.published=year,metadata.none=no'), [
    { published: 1999 },
  ])
  t.same(await of('id,text,about\n1,a,"{""x"":1}"\n', 'metadata=about'), [{ x: 1 }])
})

await t.test('tables without a header, by the numbers of their columns', async (t) => {
  const options = shaped('id=1,text=3,title=2')
  t.same(await said(read('7\tPort\tThe port.\n8\tLamp\t"The\nlamp."\n9\tshort\n', options)), [
    '7|Port|The port.',
    '8|Lamp|The\nlamp.',
    '4 missing_column',
  ])
  t.same(await said(read('7,Port,"The, port."\n8,Lamp,The lamp.\n', options)), ['7|Port|The, port.', '8|Lamp|The lamp.'])
  await t.rejects(read('7\tPort\n', options), { code: 'corpus_invalid', field: 'columns', message: /no column 3/ })
})

await t.test('ids are made of lines or of what is said, and by default where the order names no column of them', async (t) => {
  const faq = 'question,answer\nWhere?,Here.\nWhen?,Now.\nWhere?,Here.\n'
  const columns = 'title=question,text=answer'
  t.same(await said(read(faq, { ...shaped(columns, 'line'), source: 'faq.csv' })), [
    'faq.csv#2|Where?|Here.',
    'faq.csv#3|When?|Now.',
    'faq.csv#4|Where?|Here.',
  ])
  const made = await said(read(faq, { ...shaped(columns), source: 'faq.csv' }))
  t.match(made, [/^faq\.csv#[\w-]{12}\|Where\?/, /^faq\.csv#[\w-]{12}\|When\?/, /^faq\.csv#[\w-]{12}\|Where\?/])
  t.equal(new Set(made).size, 3, 'rows that say the same have ids of their own')
  t.same(await said(read(faq, { ...shaped(columns, 'hash'), source: 'faq.csv' })), made)
  const moved = await said(read('question,answer\nWhen?,Now.\n', { ...shaped(columns), source: 'faq.csv' }))
  t.equal(moved[0], made[1], 'wherever it stands')
  t.match(await said(read('{"question":"Where?","answer":"Here."}\n', shaped(columns))), [/^[\w-]{12}\|Where\?\|Here\./])
  t.same(await said(read('id,text\n7,a\n', shaped(undefined, 'line'))), ['2||a'], 'in place of those of the file')
  await t.rejects(read('text\na\n'), { code: 'corpus_invalid', field: 'id' }, 'not unless it is asked for')
})

await t.test('an order of columns that makes no sense is refused with its problem', (t) => {
  const problem = (given: string, message: RegExp) =>
    t.throws(() => parseColumns(given), { code: 'invalid_request', field: 'columns', message })
  problem('text', /must name a column/)
  problem('text=', /must name a column/)
  problem('text=a,text=b', /text twice/)
  problem('author=a', /author, which is none of/)
  problem('metadata=a,metadata.b=c', /metadata and metadata/)
  problem('text=1,title=name', /both numbers/)
  problem('id=1', /none for text/)
  t.end()
})

await t.test('nested metadata is left out and named; lists of paragraphs are joined', async (t) => {
  const row = { id: 1, text: ['The port.\n', 'The lamp.\n'], metadata: { year: 1999, author: { name: 'A' }, tags: ['a'], sizes: [1, 2] } }
  t.same(await read(JSON.stringify(row)), [
    {
      line: 1,
      passage: { id: '1', title: '', text: 'The port.\nThe lamp.', metadata: { tags: ['a'], year: 1999 } },
      leftOut: ['author', 'sizes'],
    },
  ])
  const parts = await read(JSON.stringify({ ...row, text: 'One. Two. Three.' }), { splitWords: 1 })
  t.equal(parts.filter((part) => 'leftOut' in part).length, 1, 'counted once where a row is cut')
  t.same(await said(read('{"id":1,"text":["a",2]}\n')), ['1 malformed'])
})

await t.test('parquet: columns by name, lists of paragraphs and of strings; structs are left out', async (t) => {
  const file = (name: string, options?: ReadOptions) => all(readPassageFile(`test/fixtures/index/${name}.parquet`, options))
  t.same(await file('lists', { ...shaped('id=docid,title=name,text=content'), source: 'lists' }), [
    {
      line: 1,
      passage: {
        id: '7',
        title: 'Harbour',
        text: 'The harbour opens.\nIt closes at six.',
        source: 'lists',
        metadata: { tags: ['port', 'south'] },
      },
      leftOut: ['author'],
    },
    { line: 2, passage: { id: '8', title: 'Lamp', text: 'The lamp burns.', source: 'lists', metadata: { tags: [] } } },
  ])
  t.match(await said(file('lists', shaped('text=content'))), [/^[\w-]{12}\|\|The harbour/, /^[\w-]{12}\|\|The lamp/])
  await t.rejects(file('lists'), { code: 'corpus_invalid', field: 'id', message: /columns/ })
  await t.rejects(file('lists', shaped('text=1')), { code: 'corpus_invalid', field: 'columns' })
  await t.rejects(file('many-lists'), { code: 'corpus_invalid', message: /300000 values in nested columns.*smaller row groups/ })
  t.same(await said(file('many-lists', { metadata: false })), ['1||x'])
})

await t.test('an object that holds the list of passages is named, whatever its layout', async (t) => {
  const wrapped = { version: 1, data: [{ id: 1, text: 'x' }] }
  for (const text of [JSON.stringify(wrapped), JSON.stringify(wrapped, null, 2)])
    await t.rejects(read(text), { code: 'corpus_invalid', field: 'data', message: /list "data".*JSON array or JSON lines/ })
  t.same(await said(read('{"anchors":[{"a":1}],"id":1,"text":"x"}\n')), ['1||x'], 'but no line that is a passage')
})

await t.test("spreadsheets' sep= and UTF-16", async (t) => {
  t.same(await said(read('\ufeffsep=;\r\nid;text\r\n1;a,b\r\n2;"c;d"\r\n')), ['1||a,b', '2||c;d'])
  t.same(await said(read('sep=|\nid|text\n1|a,b\n')), ['1||a,b'])
  const [short] = await read('sep=;\nid;text\n1\n2;a\n')
  t.match(short, { line: 3, reason: 'missing_column' }, 'lines are counted from the first of the file')
  const table = '\ufeffid\ttext\r\n1\tcafé 港\r\n'
  t.same(await said(read(Buffer.from(table, 'utf16le'))), ['1||café 港'])
  t.same(await said(read(Buffer.from(table, 'utf16le').swap16())), ['1||café 港'])
  t.same(await said(read(zlib.gzipSync(Buffer.from(table, 'utf16le')))), ['1||café 港'])
  const list = Buffer.from('[{"id": "1", "text": "café 港"}]', 'utf16le')
  t.same(await said(read(list)), ['1||café 港'], 'without a mark')
  t.same(await said(read(list.swap16())), ['1||café 港'])
})

await t.test('zstd is read where this Node.js can, and named where it cannot', async (t) => {
  const packed = Buffer.from('KLUv/SQUoQAAaWQJdGV4dAoxCVRoZSBwb3J0LgpRHrPJ', 'base64')
  if ('createZstdDecompress' in zlib) t.same(await said(read(packed)), ['1||The port.'])
  else await t.rejects(read(packed), { code: 'corpus_invalid', message: /zstd, which Node\.js v20.* does not read.*22\.15/ })
})
