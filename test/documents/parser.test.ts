import { readdir, readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import type { DocumentFile } from '../../src/documents/type.ts'
import { createDocumentParser, createTurns } from '../../src/documents/parser.ts'
import { makePdf } from '../fixtures/pdf.ts'
import { fileUrl } from '../helpers/root.ts'

const STUB = fileUrl('test/documents/stub-child.mjs')

function parserFor(t: Test, options: { parseMs?: number; childFile?: URL } = {}) {
  const parser = createDocumentParser({ parseMs: 60_000, ...options })
  t.teardown(() => parser.close())
  const refused = (file: Partial<DocumentFile> & { text?: string }, error: { code: string; message?: RegExp; field?: string }) =>
    t.rejects(parser.read({ bytes: Buffer.from(file.text ?? ''), ...file }), error)
  return { parser, refused }
}

t.test('PDF: paragraphs, words divided at a line end, headings, pages', async (t) => {
  const { parser } = parserFor(t)
  const pdf = makePdf([
    ['# Ganges', 'The Ganges flows into the Bay of', 'Bengal (and others). It is a holy ri-', 'ver of India.', '', 'A new paragraph.'],
    null,
    ['On page three.'],
  ])
  const { text, type, pages } = await parser.read({ bytes: pdf, name: 'any.bin' })
  t.equal(type, 'pdf', 'by its first bytes')
  t.equal(
    text,
    '# Ganges\n\nThe Ganges flows into the Bay of Bengal (and others). It is a holy river of India.\n\nA new paragraph.\n\nOn page three.\n\n',
  )
  t.same(
    pages.map((start) => text.slice(start, start + 8)),
    ['# Ganges', 'On page ', 'On page '],
    'a page without text begins where the next one does',
  )
})

t.test('HTML: sentences and headings without scripts and menus, in the encoding that it names', async (t) => {
  const { parser } = parserFor(t)
  const page =
    '<!doctype html><html><head><meta charset="iso-8859-1"><title>The Danube &amp; others</title><script>var x = 1</script></head>' +
    '<body><nav>Menu</nav><h2>Danube</h2><p>It rises in the Black Forest, <a href="/x">at Donaueschingen</a>. K\u00f6ln is elsewhere.</p></body></html>'
  const { text, title } = await parser.read({ bytes: Buffer.from(page, 'latin1'), name: 'danube.html' })
  t.equal(title, 'The Danube & others')
  t.equal(text.trim(), '## Danube\n\nIt rises in the Black Forest, at Donaueschingen. K\u00f6ln is elsewhere.')
})

t.test('DOCX and EPUB: headings are marked as in Markdown', async (t) => {
  const { parser } = parserFor(t)
  for (const kind of ['docx', 'epub'] as const) {
    const bytes = await readFile(`test/fixtures/documents/handbook.${kind}`)
    const { text, title, type } = await parser.read({ bytes, name: `handbook.${kind}` })
    t.match({ title, type }, { title: 'Harbour handbook', type: kind })
    t.match(
      text,
      /# Pilots\n\nShips longer than eighty metres[^]*\n## Ordering a pilot\n\nCall the pilot[^]*\n- the draught at the stern\n/,
    )
  }
})

t.test('what cannot be read is named', async (t) => {
  const { parser, refused } = parserFor(t)
  await refused({ bytes: makePdf([null, null]) }, { code: 'document_without_text', message: /2 pages.*scanned/, field: 'file' })
  await refused({ text: '%PDF-1.4 and then nothing' }, { code: 'document_invalid', message: /cannot be read/ })
  await refused(
    { text: 'no pdf', name: 'x.pdf' },
    { code: 'document_invalid', message: /does not begin as one: open it in its program and save it as PDF\.$/ },
  )
  for (const [name, kind] of [
    ['x.doc', 'DOC'],
    ['x.txt', 'text'],
  ])
    await refused(
      { text: '{\\rtf1 a}', name },
      { code: 'document_invalid', message: new RegExp(`is called ${kind}, but is RTF: .* save it as ${kind}`) },
    )
  await refused({ text: 'PK\u0003\u0004', name: 'x.docx' }, { code: 'document_invalid', message: /damaged/ })
  await refused({ text: 'PK\u0003\u0004', name: 'x.jar' }, { code: 'unsupported_media_type', message: /\.jar/ })
  for (const name of ['changelog.gz', 'NEWS.Debian.gz', 'readme.zip', 'LICENSE'])
    await refused({ bytes: Buffer.from([0x1f, 0x8b, 8, 0, 0]), name }, { code: 'unsupported_media_type', message: /cannot be read: send/ })
  await refused({ text: 'x', mediaType: 'image/png' }, { code: 'unsupported_media_type', message: /CEPE_OCR/ })
  await refused({ bytes: Buffer.from([0xff, 0, 0, 1, 0, 0]) }, { code: 'document_invalid', message: /not utf-8/ })
  const detected = { text: 'K\u00f6ln', warnings: [/^The file is not utf-8: it was read as /] }
  t.match(await parser.read({ bytes: Buffer.from('K\u00f6ln', 'latin1'), name: 'x.txt' }), detected)
  t.match(await parser.read({ bytes: Buffer.from('K\u00f6ln', 'utf16le') }), detected)
  await refused({ text: 'x', mediaType: 'text/plain; charset=klingon' }, { code: 'document_invalid', message: /klingon is not known/ })
  await refused({ text: ' \n ' }, { code: 'document_without_text' })
  await refused({ text: '<html><body><script>1</script></body></html>', name: 'a.html' }, { code: 'document_without_text' })
  const marked = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('K\u00f6ln', 'utf16le')])
  t.equal((await parser.read({ bytes: marked })).text, 'K\u00f6ln', 'a byte order mark tells')
  const latin = { bytes: Buffer.from('K\u00f6ln', 'latin1'), mediaType: 'text/plain; charset=iso-8859-1', name: 'notes.md' }
  t.match(await parser.read(latin), { text: 'K\u00f6ln', type: 'markdown' })
})

t.test('a file that takes its process over takes nothing else', async (t) => {
  const { parser, refused } = parserFor(t, { parseMs: 3000, childFile: STUB })
  const before = await children()
  await Promise.all([
    refused({ text: 'loop', name: 'a.html' }, { code: 'document_invalid', message: /longer than 3000 ms/ }),
    refused({ text: 'crash', name: 'a.html' }, { code: 'document_invalid' }),
  ])
  await t.rejects(parser.read({ bytes: Buffer.from('loop'), name: 'a.html' }, { deadlineMs: 300 }), { code: 'deadline_exceeded' })
  await t.rejects(parser.read({ bytes: Buffer.from('loop'), name: 'a.html' }, { signal: AbortSignal.timeout(300) }), {
    code: 'client_closed',
  })
  const { text } = await parser.read({ bytes: Buffer.from('environment'), name: 'a.html' })
  t.notMatch(text, /PATH|HOME/, 'it has nothing of the environment')
  const left = async () => (await children()).filter((pid) => !before.includes(pid))
  for (let i = 0; i < 50 && (await left()).length > 0; i++) await new Promise((resolve) => setTimeout(resolve, 100))
  t.same(await left(), [], 'no process is left')
})

t.test(
  'time that passes on a busy machine is not counted: processor time is',
  { skip: process.platform !== 'linux' && 'needs /proc' },
  async (t) => {
    const { parser } = parserFor(t, { parseMs: 2000, childFile: STUB })
    t.match(await parser.read({ bytes: Buffer.from('wait'), name: 'a.html' }), { text: /waited/ })
  },
)

const hasPermissions = ['--permission', '--experimental-permission'].some((flag) => process.allowedNodeEnvironmentFlags.has(flag))

t.test(
  'the process reads no file but its own, and starts nothing',
  { skip: !hasPermissions && 'Node has no permission model' },
  async (t) => {
    const { parser } = parserFor(t, { childFile: STUB })
    const denied = 'ERR_ACCESS_DENIED'
    const { text } = await parser.read({ bytes: Buffer.from('escape'), name: 'a.html' })
    t.same(JSON.parse(text.trim()), { read: denied, write: denied, spawn: denied, thread: denied })
  },
)

t.test('two places are shared between clients, and so is room to wait', async (t) => {
  const inTurn = createTurns({ atOnce: 2, mostWaiting: 4 })
  const begun: string[] = []
  const ends: (() => void)[] = []
  const work = (client: string, name: string) =>
    inTurn(client, () => {
      begun.push(name)
      return new Promise<void>((resolve) => ends.push(resolve))
    })
  const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'].map((name) => work('a', name))
  await t.rejects(work('a', 'a7'), { code: 'overloaded' })
  all.push(work('b', 'b1'), work('b', 'b2'))
  await t.rejects(work('b', 'b3'), { code: 'overloaded' })
  await t.rejects(work('a', 'a7'), { code: 'overloaded' })
  for (let i = 0; i < all.length; i++) {
    while (ends.length <= i) await new Promise((resolve) => setImmediate(resolve))
    ends[i]?.()
  }
  await Promise.all(all)
  t.same(begun, ['a1', 'a2', 'b1', 'a3', 'b2', 'a4', 'a5', 'a6'])
})

t.test('a file that fills the memory ends its process', { skip: process.platform !== 'linux' && 'needs /proc' }, async (t) => {
  const { refused } = parserFor(t, { parseMs: 60_000, childFile: STUB })
  await refused({ text: 'fill', name: 'a.html' }, { code: 'document_invalid', message: /memory/ })
})

/** Processes that this one has started, as far as /proc tells. */
async function children(): Promise<number[]> {
  const ids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number)
  const stats = await Promise.all(ids.map(async (id) => [id, await readFile(`/proc/${id}/stat`, 'utf8').catch(() => '')] as const))
  return stats.flatMap(([id, stat]) => {
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(parent) === process.pid && state !== 'Z' ? [id] : []
  })
}
