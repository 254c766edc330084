/** OCR of scanned PDFs and pictures. Its packages are not dependencies: without them only its absence is tested. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { loadConfig } from '../../src/config.ts'
import { createPassageReader } from '../../src/documents/corpus/reader.ts'
import { ocrPackages } from '../../base/exists.ts'
import { createDocumentParser } from '../../src/documents/parser.ts'
import { makePdf } from '../fixtures/pdf.ts'
import { makeScan, type ScanPage } from '../fixtures/scan.ts'
import { fileUrl } from '../helpers/root.ts'
import { SKIPS } from '../helpers/skips.ts'

const skip = ocrPackages('eng').missing.length > 0 && SKIPS.ocr
const fixture = (name: string): Promise<Buffer> => readFile(`test/fixtures/documents/${name}`)
const [lamp, boats] = await Promise.all(['scan-lamp.png', 'scan-boats.png'].map(fixture))
if (lamp === undefined || boats === undefined) throw new Error('no fixtures')

/** What the fixtures show. */
const LAMP = 'The harbour master keeps the lamp lit from dusk until the last boat is in. A pilot costs 387 crowns in winter.'
const BOATS = 'Boats of the second pier moor at the northern wall.'
/** Upright, as most scanners place it. */
const UPRIGHT: Omit<ScanPage, 'png'> = { box: [500, 200], matrix: [500, 0, 0, 200, 0, 0] }

const off = createDocumentParser({ parseMs: 60_000 })
const parser = createDocumentParser({ parseMs: 60_000, ocr: 'eng' })
t.teardown(() => {
  off.close()
  parser.close()
})

t.test('without the packages the setting is refused with the remedy', (t) => {
  t.throws(() => loadConfig({}, { CEPE_OCR: 'zzz' }), {
    code: 'config_invalid',
    field: 'CEPE_OCR',
    message: /npm install --no-save .*@tesseract\.js-data\/zzz"/,
  })
  t.throws(() => loadConfig({}, { CEPE_OCR: '../eng' }), { code: 'config_invalid', message: /CEPE_OCR/ })
  t.equal(loadConfig({}, {}).OCR, '')
  t.end()
})

t.test('without OCR the errors and warnings name the setting', async (t) => {
  await t.rejects(off.read({ bytes: lamp }), { problem: 'not_supported', code: 'unsupported_media_type', message: /set CEPE_OCR/ })
  await t.rejects(off.read({ bytes: makeScan([{ ...UPRIGHT, png: lamp }]) }), { problem: 'scanned', message: /1 page .*Set CEPE_OCR/ })
  const { warnings } = await off.read({ bytes: makePdf([['Text of the first page.'], null]) })
  t.same(warnings, ['1 of 2 pages have no text, and may be scanned (2): set CEPE_OCR to read such pages.'])
})

t.test('a process gets time for 200 pages, and none without OCR', async (t) => {
  const childFile = fileUrl('test/documents/stub-child.mjs')
  const read = async (pages: number, ocr: string): Promise<string> => {
    const parser = createDocumentParser({ parseMs: 60_000, ocr, childFile })
    t.teardown(() => parser.close())
    return (await parser.read({ bytes: Buffer.from(`<p>${pages} pages`), name: 'a.html' })).text
  }
  t.equal(await read(200, 'eng'), '"done"')
  await t.rejects(read(201, 'eng'), { problem: 'damaged', message: /sent no result/ })
  await t.rejects(read(1, ''), { problem: 'damaged', message: /sent no result/ })
})

t.test('scanned pages of a PDF, however the picture is placed', { skip }, async (t) => {
  const placed: readonly Omit<ScanPage, 'png'>[] = [
    UPRIGHT,
    { ...UPRIGHT, isMask: true },
    // A page that is turned by the viewer, and one whose picture is turned.
    { box: [200, 500], matrix: [0, 500, -200, 0, 200, 0], rotate: 90 },
    { box: [500, 200], matrix: [-500, 0, 0, -200, 500, 200], rotate: 180 },
    { box: [500, 400], matrix: [500, 0, 0, 200, 0, 100] },
  ]
  for (const page of placed) {
    const read = await parser.read({ bytes: makeScan([{ ...page, png: lamp }]) })
    t.match(read, { text: `${LAMP}\n\n`, pages: [0], warnings: ['Read by OCR, which may err: pages 1.'] })
  }
})

t.test('a passage of a scanned page names the page', { skip }, async (t) => {
  const reader = createPassageReader({ parseMs: 60_000, ocr: 'eng' })
  t.teardown(() => reader.close())
  const bytes = makeScan([{ ...UPRIGHT, png: lamp }, 'Typed page.', { ...UPRIGHT, png: boats }, null])
  const { passages, warnings } = await reader.read({ bytes, name: 'mixed.pdf' }, { words: 5, signal: new AbortController().signal })
  t.equal(passages.find(({ text }) => text.includes('Typed'))?.page, 2)
  t.equal(passages.find(({ text }) => text.includes('northern'))?.page, 3)
  t.equal(passages.find(({ text }) => text.includes('387 crowns'))?.page, 1)
  t.same(warnings, ['Read by OCR, which may err: pages 1, 3.', 'Not read by OCR: no picture that can be decoded (pages 4).'])
})

t.test('pictures: each kind, and every page of a TIFF', { skip }, async (t) => {
  t.match(await parser.read({ bytes: lamp }), { type: 'image', text: `${LAMP}\n\n`, pages: [0] })
  t.equal((await parser.read({ bytes: await fixture('scan-boats.jpg'), name: 'x.txt' })).text, `${BOATS}\n\n`)
  const { text, pages } = await parser.read({ bytes: await fixture('scan-pages.tif') })
  t.equal(text, `${LAMP}\n\n${BOATS}\n\n`)
  t.equal(pages[1], text.indexOf('Boats'))
})

t.test('a damaged or huge picture is refused by itself', { skip }, async (t) => {
  const huge = Buffer.from(lamp)
  huge.writeUInt32BE(50_000, 16)
  huge.writeUInt32BE(50_000, 20)
  const loop = await fixture('scan-pages.tif')
  // The second page is the first again.
  const tiff = Buffer.from(loop)
  const first = tiff.readUInt32LE(4)
  tiff.writeUInt32LE(first, first + 2 + 12 * tiff.readUInt16LE(first))
  t.equal((await parser.read({ bytes: tiff })).pages.length, 1)
  await t.rejects(parser.read({ bytes: huge }), { problem: 'damaged', message: /is damaged/ })
  await t.rejects(parser.read({ bytes: lamp.subarray(0, 1500) }), { problem: 'damaged', message: /is damaged/ })
  await t.rejects(parser.read({ bytes: Buffer.from([1, 2, 3, 4]), name: 'x.png' }), { problem: 'damaged', message: /is damaged/ })
  await t.rejects(parser.read({ bytes: loop.subarray(0, 300) }), { problem: 'damaged', message: /list of pages/ })
  t.equal((await parser.read({ bytes: boats })).text, `${BOATS}\n\n`, 'the next one is read')
})
