import { readFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { createPassageReader } from '../../src/documents/corpus/reader.ts'
import type { DocumentPassage } from '../../src/documents/schema.ts'
import { permissionFlags } from '../../src/documents/corpus/process.ts'
import { makePdf } from '../fixtures/pdf.ts'
import { makeZip } from '../fixtures/zip.ts'
import { fileUrl } from '../helpers/root.ts'

const FIXTURES = 'test/fixtures/documents'

function readerFor(t: Test) {
  const reader = createPassageReader({ parseMs: 60_000 })
  t.teardown(() => reader.close())
  const options = { words: 100, signal: new AbortController().signal }
  const text = (name: string, content: string | Buffer) => reader.read({ bytes: Buffer.from(content), name }, options)
  return {
    text,
    file: async (name: string) => reader.read({ bytes: await readFile(path.join(FIXTURES, name)), name }, options),
    texts: async (name: string, content: string) => (await text(name, content)).passages.map((passage) => passage.text),
    titles: async (name: string, content: string) => (await text(name, content)).passages.map(({ title }) => title),
  }
}

/** Spacing differs between kinds of files. */
function withoutSpacing(passages: readonly DocumentPassage[]): string[] {
  return passages.map(({ text }) => text.replace(/\s+/g, ' '))
}

t.test('a title or an output that is too long is cut between characters, and its text is kept', async (t) => {
  const { titles, texts } = readerFor(t)
  const page = `<title>${'x'.repeat(299)}\u{1f600} more</title><p>The capital of the country is in the north.</p>`
  t.same(await titles('page.html', page), ['x'.repeat(299)])
  const cell = { cell_type: 'code', source: 'print(1)', outputs: [{ text: `${'y'.repeat(3999)}\u{1f600} more` }] }
  const [said, output] = await texts('book.ipynb', JSON.stringify({ cells: [cell], nbformat: 4, nbformat_minor: 5, metadata: {} }))
  t.equal([said, output].join('').endsWith('y'), true)
})

t.test('the same handbook gives the same passages as Markdown, HTML, PDF, DOCX, EPUB and text', async (t) => {
  const { file } = readerFor(t)
  const { passages: expected, type } = await file('handbook.md')
  t.equal(type, 'markdown')
  t.same(
    expected.map(({ title, heading }) => [title, heading]),
    [
      ['Harbour handbook > Pilots', 'Pilots'],
      ['Harbour handbook > Pilots > Ordering a pilot', 'Pilots > Ordering a pilot'],
      ['Harbour handbook > Pilots > Ordering a pilot', 'Pilots > Ordering a pilot'],
      ['Harbour handbook > Berths', 'Berths'],
      ['Harbour handbook > Berths > Leaving', 'Berths > Leaving'],
    ],
  )
  t.match(expected[1]?.text, /^Call the pilot station on channel 12 and say:\n- the name .*\n- the draught .*\n- the time .*\nThe station /)
  for (const kind of ['html', 'docx', 'epub', 'pdf', 'txt']) {
    const { passages } = await file(`handbook.${kind}`)
    t.same(withoutSpacing(passages), withoutSpacing(expected), kind)
    // Plain text has no levels of headings, and no title but its first line.
    if (kind !== 'txt')
      t.same(
        passages.map(({ title }) => title),
        expected.map(({ title }) => title),
        kind,
      )
    if (kind === 'pdf')
      t.same(
        passages.map(({ page }) => page),
        [1, 1, 1, 1, 1],
      )
  }
})

t.test('tables become rows of "column: value", code stays whole, both with what introduces them', async (t) => {
  const { file } = readerFor(t)
  const expected =
    'Dues are charged by length and by day:\nLength: up to 20 m; Per day: 15; Berths: western basin\n' +
    'Length: up to 80 m; Per day: 60; Berths: quays A and B\nLength: longer; Per day: 240; Berths: quay C\n' +
    'The gauge answers to this query:\nGET /gauge?station=mole\n{\n  "level": 412,\n  "unit": "cm"\n}\nReadings are kept for ten years.'
  for (const kind of ['md', 'html', 'docx', 'epub']) {
    const { passages } = await file(`reference.${kind}`)
    t.same(
      passages.map(({ title, text }) => [title, text]),
      [['Reference', expected]],
      kind,
    )
  }
  const { passages } = await file('watch.docx')
  t.match(passages, [
    {
      title: 'Notes of the watch > Night',
      text: 'The light on the southern mole was out from two to four.\n- First of all\n- Then the second\nHour: 03; Wind: north-west 5',
    },
  ])
})

t.test('passages of about 100 words end with sentences and never cross headings; a long list keeps its lead-in', async (t) => {
  const { text, texts } = readerFor(t)
  const sentence = 'The ferry leaves the southern quay at noon and returns in the evening. '
  const { passages } = await text('a.md', `# A\n\n${sentence.repeat(40)}\n\n# B\n\nShort.\n\n# C\n`)
  for (const { text } of passages) t.match(text, /[.C]$/)
  t.same(
    passages.map(({ title, text }) => [title, text.split(/\s+/).length]),
    [
      ['a > A', 104],
      ['a > A', 104],
      ['a > A', 104],
      ['a > A', 104],
      ['a > A', 104],
      ['a > B', 1],
      ['a', 1],
    ],
    'a heading with nothing below it is kept too',
  )
  const items = Array.from({ length: 40 }, (_, i) => `- the lamp number ${i} of the harbour`).join('\n')
  const lists = await texts('b.md', `Check these lamps:\n\n${items}\n`)
  t.ok(lists.length > 1)
  for (const one of lists) t.match(one, /^Check these lamps:\n- the lamp/)
  const code = Array.from({ length: 200 }, (_, i) => `call(${i}, "one two three")`).join('\n')
  const [whole, after] = await texts('c.md', `Run this:\n\n\`\`\`\n${code}\n\`\`\`\n\n${sentence.repeat(9)}`)
  t.equal(whole, `Run this:\n${code}`, 'code is not cut')
  t.match(after, /^The ferry/)
})

t.test(
  'a heading that the titles have no room for is the text of the first passage below it; one without anything below is kept',
  async (t) => {
    const { text } = readerFor(t)
    const clause = 'The tenant pays for oil and wicks. '.repeat(12).trim()
    const passages = async (name: string, content: string) =>
      (await text(name, content)).passages.map(({ text }) => text.replaceAll(clause, 'CLAUSE'))
    t.same(await passages('a.md', `# Lease\n\n## ${clause}\n\nAs agreed.\n\n### Oil\n\nRape.`), ['CLAUSE\nAs agreed.', 'Rape.'])
    t.same(await passages('b.md', `# ${clause}\n\nAs agreed.`), ['CLAUSE\nAs agreed.'])
    const [upper, lower] = ['u', 'l'].map((letter) => `${letter}${'ong '.repeat(40).trim()}`)
    const path = `# Lease\n\n## ${upper}\n\n### ${lower}\n\nRape.\n\n### Wicks\n\nCotton.`
    t.same(await passages('c.md', path), [`${upper}\nRape.`, 'Cotton.'], 'one that is dropped between the first and the last')
    t.match((await text('d.md', '# Lease')).passages, [{ title: 'Lease', text: 'Lease' }])
    t.match((await text('e.html', '<title>Lease</title><h1>Lease</h1><h1>Lease</h1>')).passages, [{ title: 'Lease', text: 'Lease' }])
    t.equal((await text('f.md', '# Lease\n\n## Oil')).passages.length, 1)
  },
)

t.test('web pages: the main text without what stands around it', async (t) => {
  const { texts } = readerFor(t)
  const around = (inside: string) =>
    `<!doctype html><html><head><title>Lamps</title></head><body><header><a href="/">Home</a> Search</header><nav>Menu</nav>${inside}<footer>Imprint</footer></body></html>`
  const prose = '<p>The lamp on the mole burns from dusk until dawn, and is looked after by the watch.</p>'
  for (const inside of [
    `<main><h1>Lamps</h1>${prose}</main>`,
    `<article><h1>Lamps</h1>${prose}</article>`,
    `<div id="content">${prose}</div>`,
  ])
    t.same(await texts('a.html', around(inside)), ['The lamp on the mole burns from dusk until dawn, and is looked after by the watch.'])
  t.same(await texts('b.html', '<dl><dt>Mole<dd>a wall in the sea</dl><p hidden>secret</p><table><tr><td><ul><li>placed</ul></table>'), [
    '- Mole: a wall in the sea\n- placed',
  ])
  t.same(
    await texts(
      'c.html',
      '<h2>Lamps<a class="headerlink" href="#lamps">\u00b6</a> <a class="anchor" href="#lamps">Permalink</a></h2><dl><dt id="undo"><a class="option-anchor" href="#undo"><code>--undo</code></a></dt><dd>Undo it.</dd></dl>',
    ),
    ['- --undo: Undo it.'],
    'links beside headings are left out, and texts that are links to themselves are not',
  )
})

t.test("the site's name in a page's title: the heading that the title begins with is not said again", async (t) => {
  const { titles: titlesIn } = readerFor(t)
  const page = (title: string) =>
    `<title>${title}</title><main><h1>Lamps</h1><h2>On the mole</h2><p>The lamp burns.</p><h2>Lamps - and buoys</h2><p>It blinks.</p></main>`
  const titles = (title: string) => titlesIn('a.html', page(title))
  for (const site of ['Lamps - The Harbour Book', 'Lamps | The Harbour', 'Lamps \u2014 Harbour 1.0 documentation'])
    t.same(await titles(site), [`${site} > On the mole`, `${site} > Lamps - and buoys`])
  t.same(await titles('Lamps-on-sea'), ['Lamps-on-sea > Lamps > On the mole', 'Lamps-on-sea > Lamps > Lamps - and buoys'])
})

t.test('PDF: pages, running heads left out, paragraphs across pages', async (t) => {
  const { text } = readerFor(t)
  const page = (number: number, ...lines: string[]) => ['Harbour rules', ...lines, `page ${number} of 3`]
  const pdf = makePdf([
    page(1, '# Ships', 'A ship that is longer than the quay', 'waits at anchor until'),
    page(2, 'a tug has come.', '', '# Boats', 'Boats moor anywhere.'),
    page(3, '', 'On the third page nothing is said of them.'),
  ])
  const { passages } = await text('rules.pdf', pdf)
  t.match(passages, [
    { title: 'rules > Ships', page: 1, text: 'A ship that is longer than the quay waits at anchor until a tug has come.' },
    { title: 'rules > Boats', page: 2, text: /^Boats moor anywhere\.\s+On the third page/ },
  ])
})

t.test('a file that cannot be read is named with its reason, and the next one is read', async (t) => {
  const { text, file } = readerFor(t)
  await t.rejects(file('encrypted.pdf'), { problem: 'encrypted', code: 'document_invalid' })
  await t.rejects(text('scan.pdf', makePdf([null])), { problem: 'scanned', code: 'document_without_text' })
  await t.rejects(text('a.docx', 'PK\u0003\u0004 and nothing'), { problem: 'damaged', code: 'document_invalid' })
  await t.rejects(text('a.epub', 'no zip'), { problem: 'damaged', code: 'document_invalid' })
  await t.rejects(text('a.docx', Buffer.from('d0cf11e0a1b11ae1', 'hex')), { problem: 'encrypted', code: 'document_invalid' })
  await t.rejects(text('a.md', ' \n'), { problem: 'without_text', code: 'document_without_text' })
  await t.rejects(text('a.txt', Buffer.from([0xff, 0, 0, 1, 0, 0])), { problem: 'encoding', code: 'document_invalid' })
  // UTF-16 without a mark and without zero bytes.
  const wide = Buffer.from('\u5951\u7d04\u306e\u4fa1\u683c\u306f\u3001\u6708\u984d\u3067\u3059\u3002\u5149'.repeat(9), 'utf16le')
  for (const one of [wide, Buffer.from(wide).swap16()])
    await t.rejects(text('a.txt', one), { problem: 'encoding', code: 'document_invalid' })
  await t.rejects(text('a.xlsx', 'x'), { problem: 'damaged', code: 'document_invalid' })
  await t.rejects(text('a.rar', 'x'), { problem: 'not_supported', code: 'unsupported_media_type' })
  await t.rejects(text('a.html', `${'<em>'.repeat(2000)}deep`), { problem: 'damaged', message: /nested/ })
  t.match(await text('a.txt', 'Good text.'), { passages: [{ title: 'a', text: 'Good text.' }] })
})

t.test('an encrypted file of Office is named as such, with the remedy', async (t) => {
  const { text } = readerFor(t)
  const ole = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(2040)])
  const newer = Buffer.concat([ole, Buffer.from('EncryptedPackage', 'utf16le')])
  const word = Buffer.from(ole)
  // [MS-DOC] FibBase: its mark, and the bit of its flags for encryption.
  word.writeUInt16LE(0xa5ec, 512)
  word.writeUInt16LE(0x100, 522)
  const open = makeZip([
    { name: 'META-INF/manifest.xml', content: '<m:manifest xmlns:m="x"><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>' },
    { name: 'content.xml', content: 'unreadable' },
  ])
  const problem = { problem: 'encrypted', code: 'document_invalid', field: 'file' }
  for (const ending of ['docx', 'xlsx', 'pptx'])
    await t.rejects(text(`a.${ending}`, newer), {
      ...problem,
      message: /^The file is encrypted, or of a format before 2007: save it in the newer format without a password\.$/,
    })
  for (const bytes of [word, newer])
    await t.rejects(text('a.doc', bytes), { ...problem, message: 'The DOC is encrypted: save it without a password.' })
  for (const ending of ['odt', 'ods', 'odp'])
    await t.rejects(text(`a.${ending}`, open), { ...problem, message: 'The file is encrypted: save it without a password.' })
})

t.test(
  'a process that reads files one after the other is bounded for each of them',
  { skip: process.platform !== 'linux' && 'needs /proc' },
  async (t) => {
    const reader = createPassageReader({ parseMs: 900, childFile: fileUrl('test/documents/stub-child.mjs') })
    t.teardown(() => reader.close())
    const read = (wish: string) =>
      reader.read({ bytes: Buffer.from(wish), name: 'a.html' }, { words: 100, signal: new AbortController().signal })
    for (let i = 0; i < 3; i++) t.match(await read('burn'), { passages: [{ text: /burnt/ }] }, 'what earlier files took is not counted')
    await t.rejects(read('loop'), { problem: 'too_slow', message: /900 ms of processor time/ })
    const { passages } = await read('escape')
    const hasPermissions = permissionFlags(fileUrl('test/documents/stub-child.mjs')).length > 0
    const denied = 'ERR_ACCESS_DENIED'
    if (hasPermissions) t.same(JSON.parse(passages[0]?.text ?? ''), { read: denied, write: denied, spawn: denied, thread: denied })
    const left = read('loop')
    reader.close()
    await t.rejects(left, { name: 'AbortError' })
    await t.rejects(read('burn'), { name: 'AbortError' }, 'nothing is started after the end')
  },
)
