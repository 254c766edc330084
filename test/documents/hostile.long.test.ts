import { readFile } from 'node:fs/promises'
import { deflateSync } from 'node:zlib'
import t from 'tap'
import { createPassageReader } from '../../src/documents/corpus/reader.ts'
import { DocumentError } from '../../src/documents/errors.ts'
import { makeZip, type ZipFixtureEntry } from '../fixtures/zip.ts'
import { OFFICE_CASES } from './fidelity/cases/office.ts'

const MB = 2 ** 20
/** Processor time: on a busy machine each file may take ten times as long. */
const PARSE_MS = 2500
/** Files of each kind. */
const LEAST = 50

interface Hostile {
  readonly name: string
  readonly bytes: Buffer
}

/** The same choices in every run. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state % below
  }
}

/** A file cut at many places, and with bytes changed at many. */
function brokenCopies(name: string, whole: Buffer, count: number): Hostile[] {
  const random = numbersFrom(whole.length)
  return Array.from({ length: count }, (_, i) => {
    if (i % 2 === 0) return { name: `cut-${i}-${name}`, bytes: whole.subarray(0, 5 + random(whole.length - 5)) }
    const bytes = Buffer.from(whole)
    for (let changed = 0; changed < 20; changed++) bytes[8 + random(bytes.length - 8)] = random(256)
    return { name: `changed-${i}-${name}`, bytes }
  })
}

/** A PDF of one page whose content is given. */
function pdfWith(content: Buffer, filter: string, more = ''): Buffer {
  const head = '%PDF-1.5\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n'
  const page =
    '3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> /XObject << /X 6 0 R >> >> >>\nendobj\n'
  const font = '5 0 obj\n<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>\nendobj\n'
  const stream = `4 0 obj\n<< /Length ${content.length} ${filter} >>\nstream\n`
  return Buffer.concat([
    Buffer.from(head + page + font + more + stream, 'latin1'),
    content,
    Buffer.from('\nendstream\nendobj\ntrailer\n<< /Root 1 0 R >>\n', 'latin1'),
  ])
}

function deflatedTwice(bytes: number): Buffer {
  return deflateSync(deflateSync(Buffer.alloc(bytes, 'BT /F 9 Tf (a) Tj ET ')))
}

const hostilePdfs = async (): Promise<Hostile[]> => {
  const endless =
    '6 0 obj\n<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >> /Length 5 >>\nstream\n/X Do\nendstream\nendobj\n'
  return [
    ...brokenCopies('a.pdf', await readFile('test/fixtures/documents/handbook.pdf'), 44),
    { name: 'bomb.pdf', bytes: pdfWith(deflatedTwice(400 * MB), '/Filter [/FlateDecode /FlateDecode]') },
    { name: 'loop.pdf', bytes: pdfWith(Buffer.from('/X Do'), '', endless) },
    { name: 'deep.pdf', bytes: pdfWith(Buffer.from('['.repeat(2 * MB)), '') },
    {
      name: 'many.pdf',
      bytes: Buffer.from(
        '%PDF-1.5\n2 0 obj\n<< /Type /Pages /Kids [2 0 R] /Count 999999999 >>\nendobj\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n',
      ),
    },
    { name: 'length.pdf', bytes: pdfWith(Buffer.from('BT ET'), '/Length 4294967295') },
    { name: 'encrypted.pdf', bytes: await readFile('test/fixtures/documents/encrypted.pdf') },
  ]
}

const BODY = (inside: string): string =>
  `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${inside}</w:body></w:document>`
const TYPES =
  '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
const RELATIONS =
  '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>'
const LAUGHS = `<!DOCTYPE l [<!ENTITY a "ha">${Array.from({ length: 12 }, (_, i) => `<!ENTITY ${'bcdefghijklm'.charAt(i)} "${`&${'abcdefghijkl'.charAt(i)};`.repeat(10)}">`).join('')}]>`

const hostileDocx = async (): Promise<Hostile[]> => {
  const docx = (document: string | Buffer, more: Partial<ZipFixtureEntry> = {}): Buffer =>
    makeZip([
      { name: '[Content_Types].xml', content: TYPES },
      { name: '_rels/.rels', content: RELATIONS },
      { name: 'word/document.xml', content: document, ...more },
    ])
  const paragraph = '<w:p><w:r><w:t>a</w:t></w:r></w:p>'
  return [
    ...brokenCopies('a.docx', await readFile('test/fixtures/documents/handbook.docx'), 44),
    { name: 'bomb.docx', bytes: docx(Buffer.alloc(200 * MB, ' ')) },
    { name: 'lying.docx', bytes: docx(Buffer.alloc(100 * MB, ' '), { says: 100 }) },
    { name: 'encrypted.docx', bytes: docx(BODY(paragraph), { encrypted: true }) },
    { name: 'laughs.docx', bytes: docx(BODY('<w:p><w:r><w:t>&m;</w:t></w:r></w:p>').replace('?>', `?>${LAUGHS}`)) },
    { name: 'deep.docx', bytes: docx(BODY('<w:tbl><w:tr><w:tc>'.repeat(20_000))) },
    { name: 'ole.docx', bytes: Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(4096)]) },
  ]
}

const hostileEpubs = async (): Promise<Hostile[]> => {
  const container = '<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>'
  const opf = (href: string): string =>
    `<package><metadata><dc:title>T</dc:title></metadata><manifest><item id="a" href="${href}" media-type="application/xhtml+xml"/></manifest><spine>${'<itemref idref="a"/>'.repeat(3)}</spine></package>`
  const epub = (page: string | Buffer, href = 'a.xhtml', more: readonly ZipFixtureEntry[] = []): Buffer =>
    makeZip([
      { name: 'META-INF/container.xml', content: container },
      { name: 'p.opf', content: opf(href) },
      { name: 'a.xhtml', content: page },
      ...more,
    ])
  const drm =
    '<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></EncryptedData></encryption>'
  return [
    ...brokenCopies('a.epub', await readFile('test/fixtures/documents/handbook.epub'), 44),
    { name: 'bomb.epub', bytes: epub(Buffer.alloc(200 * MB, '<p>a')) },
    { name: 'escape.epub', bytes: epub('<p>a</p>', '../../../../etc/passwd') },
    { name: 'missing.epub', bytes: epub('<p>a</p>', 'none.xhtml') },
    { name: 'drm.epub', bytes: epub('<p>a</p>', 'a.xhtml', [{ name: 'META-INF/encryption.xml', content: drm }]) },
    {
      name: 'loop.epub',
      bytes: makeZip([{ name: 'META-INF/container.xml', content: container.replace('p.opf', 'META-INF/container.xml') }]),
    },
    { name: 'deep.epub', bytes: epub('<em>'.repeat(500_000)) },
  ]
}

const hostileOffice = async (): Promise<Hostile[]> => {
  const cases = OFFICE_CASES.map(async ({ file, content }) => ({
    name: file,
    bytes: typeof content === 'function' ? await content() : Buffer.alloc(0),
  }))
  const whole = await Promise.all(cases)
  const odf = (kind: string, inside: string): Buffer =>
    makeZip([{ name: 'content.xml', content: `<a><office:body><office:${kind}>${inside}</office:${kind}></office:body></a>` }])
  const sheet = (inside: string): Buffer =>
    makeZip([
      { name: 'xl/workbook.xml', content: '<workbook><sheets><sheet name="a" r:id="r"/></sheets></workbook>' },
      { name: 'xl/_rels/workbook.xml.rels', content: '<r><Relationship Id="r" Type="x/worksheet" Target="s.xml"/></r>' },
      { name: 'xl/s.xml', content: `<worksheet><sheetData>${inside}</sheetData></worksheet>` },
    ])
  const cell = '<c t="inlineStr"><is><t>a</t></is></c>'
  return [
    ...whole.flatMap(({ name, bytes }) => brokenCopies(name, bytes, 10)),
    { name: 'bomb.odt', bytes: odf('text', ' '.repeat(200 * MB)) },
    { name: 'bomb.xlsx', bytes: sheet('<row>'.repeat(40 * MB)) },
    { name: 'deep.odt', bytes: odf('text', '<text:list><text:list-item>'.repeat(20_000)) },
    { name: 'spaces.odt', bytes: odf('text', '<text:p>a<text:s text:c="999999999"/>b</text:p>'.repeat(1000)) },
    {
      name: 'repeats.ods',
      bytes: odf(
        'spreadsheet',
        `<table:table>${'<table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"><text:p>a</text:p></table:table-cell></table:table-row>'.repeat(50)}</table:table>`,
      ),
    },
    { name: 'far.xlsx', bytes: sheet(`<row r="99999999999">${cell.replace('<c ', '<c r="ZZZ9" ')}</row>`) },
    {
      name: 'merged.xlsx',
      bytes: sheet(
        `<row r="1">${cell}</row></sheetData><mergeCells>${'<mergeCell ref="A1:XFD1048576"/>'.repeat(1000)}</mergeCells><sheetData>`,
      ),
    },
    { name: 'many.xlsx', bytes: sheet(`<row>${cell.repeat(1000)}</row>`.repeat(500)) },
    {
      name: 'loop.pptx',
      bytes: makeZip([
        { name: 'ppt/presentation.xml', content: '<p><sldId r:id="r"/></p>' },
        { name: 'ppt/_rels/presentation.xml.rels', content: '<r><Relationship Id="r" Type="x/slide" Target="presentation.xml"/></r>' },
      ]),
    },
    { name: 'ole.doc', bytes: Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(4096, 255)]) },
  ]
}

/** Marks of every kind of text, many times. */
const hostileLines = (): Hostile[] => {
  const kinds: Readonly<Record<string, readonly string[]>> = {
    rst: ['a\n=\n', '====\n', '.. code::\n', '+--+\n', '.. _a'],
    org: ['* a\n', '|a|', '|a|\n', '|-+', '#+begin_src\n', ':a:'],
    adoc: ['= a\n', '|a|\n', '----\n', '[', '|'],
    tex: ['\\section{', '\\item ', '\\begin{verbatim}\n', '{', '\\part{a}\\label{b}'],
    vtt: ['00:01.000 --> 00:02.000\na\n\n', '<v a', '<', '00:'],
    log: ['a\n', 'a'],
    py: ['a\n\n', '\n', ' '],
    eml: ['a: b\r\n', 'Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n', '=?utf-8?Q?=41?= '],
    ipynb: ['[', '{"cells":'],
    srt: ['1\n00:00:01,000 --> 00:00:02,000\n', '{\\a'],
    html: [
      '<sup>1',
      '<q>',
      '<rt>',
      '<header>',
      '<footer>',
      '<div class=toc><a>',
      '<a rel=next>Next</a>',
      '<p><a href=#a><sup>1</sup></a><li id=a>',
      '<button role=tab>a</button><div role=tabpanel>b</div>',
      '<math><mfrac>',
      '<img alt=a>',
      '<h2><button>a?</button></h2>',
      '<dialog>',
    ],
  }
  return Object.entries(kinds).flatMap(([kind, marks]) =>
    marks.map((mark, i) => ({ name: `${i}.${kind}`, bytes: Buffer.from(mark.repeat(100_000)) })),
  )
}

const hostileTexts = (): Hostile[] => {
  const marks = ['[', '![', '*', '_', '`', '> ', '- ', '~', '<', '&#', '|', '[](', '**a_', '\t- ', '<!--', '[a]: ', '\\', '#', '1. ', '<a ']
  const markup = [
    '<div>',
    '<table><tr><td>',
    '<ul><li>',
    '<b>',
    '<p',
    '<!--',
    '&',
    '<a href="',
    '<script>',
    '<svg>',
    '<table colspan=9999999>',
    '<dl><dt>',
  ]
  return [
    ...marks.flatMap((mark) => [5000, 200_000].map((times) => ({ name: `${times}.md`, bytes: Buffer.from(mark.repeat(times)) }))),
    ...markup.flatMap((mark) => [5000, 200_000].map((times) => ({ name: `${times}.html`, bytes: Buffer.from(mark.repeat(times)) }))),
    { name: 'spans.html', bytes: Buffer.from(`<table>${'<tr>'.concat('<td rowspan=99999 colspan=99999>a'.repeat(100)).repeat(100)}`) },
    ...['/*', '.a{', '.a,', '.a{text-decoration:', 'font-size:.1;position:relative;', '.a{vertical-align:sub}'].map((mark, i) => ({
      name: `style${i}.html`,
      bytes: Buffer.from(`<style>${mark.repeat(200_000)}</style>${'<span class="a a a">b</span>'.repeat(1000)}`),
    })),
    { name: 'zero.txt', bytes: Buffer.alloc(MB) },
    { name: 'line.txt', bytes: Buffer.alloc(20 * MB, 'a') },
    { name: 'lines.txt', bytes: Buffer.alloc(8 * MB, 'a\n\n') },
    { name: 'spaces.txt', bytes: Buffer.alloc(8 * MB, ' \t') },
    { name: 'bullets.txt', bytes: Buffer.alloc(2 * MB, '- a\n') },
    { name: 'item.txt', bytes: Buffer.from(`- a\n\n${'  b c\n\n'.repeat(100_000)}`) },
    { name: 'numbers.adoc', bytes: Buffer.from('. a\n'.repeat(100_000)) },
    { name: 'lists.tex', bytes: Buffer.from('\\begin{enumerate}'.repeat(20_000) + '\\item a\n'.repeat(20_000)) },
    { name: 'roles.rst', bytes: Buffer.from(`${':a'.repeat(100_000)}\n\n${'`a`_ '.repeat(100_000)}\n\n${'#. a\n\n'.repeat(50_000)}`) },
    { name: 'accents.tex', bytes: Buffer.from(`${'\\"{'.repeat(100_000)}\n\n${'{\\v s'.repeat(100_000)}`) },
    { name: 'ended.html', bytes: Buffer.from(`${'<div>'.repeat(500)}${'<li><p><b>'.repeat(100_000)}<table>${'<td><b>'.repeat(100_000)}`) },
    { name: 'random.md', bytes: Buffer.from(Array.from({ length: 5000 }, numbersFrom(7).bind(undefined, 256))) },
  ]
}

const KINDS = { pdf: hostilePdfs, docx: hostileDocx, epub: hostileEpubs, office: hostileOffice, lines: hostileLines, text: hostileTexts }
for (const [kind, make] of Object.entries(KINDS))
  t.test(`${kind}: each hostile file is read or named, and the next one is read`, async (t) => {
    const files = await make()
    t.ok(files.length >= LEAST, `${files.length} files`)
    const reader = createPassageReader({ parseMs: PARSE_MS })
    t.teardown(() => reader.close())
    const read = (file: Hostile) => reader.read(file, { words: 100, signal: new AbortController().signal })
    const problems = new Map<string, string>()
    const waiting = [...files]
    const work = async (): Promise<void> => {
      for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
        const outcome = await read(file).then(
          () => 'read',
          (error: unknown) => (error instanceof DocumentError ? error.problem : `another error: ${String(error)}`),
        )
        problems.set(file.name, outcome)
        if (outcome.startsWith('another')) t.fail(`${file.name}: ${outcome}`)
      }
    }
    await Promise.all([work(), work()])
    t.comment(JSON.stringify(Object.fromEntries([...problems].filter(([name]) => !/^(?:cut|changed)/.test(name)))))
    const wrong = [...problems].filter(
      ([name, outcome]) => /^(?:bomb|encrypted|drm|ole|escape|missing|lying|loop)/.test(name) && outcome === 'read',
    )
    t.same(wrong, [], 'none of these gives passages')
    t.match(await read({ name: 'next.md', bytes: Buffer.from('All is well.') }), { passages: [{ text: 'All is well.' }] })
  })
