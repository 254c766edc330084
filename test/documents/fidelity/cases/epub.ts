import { makeZip } from '../../../fixtures/zip.ts'
import type { FidelityCase } from '../contract.ts'

/** A book whose package elements have a prefix, and a chapter that is listed but missing. */
const book = (): Buffer =>
  makeZip([
    {
      name: 'META-INF/container.xml',
      content: '<c:container xmlns:c="x"><c:rootfiles><c:rootfile full-path="o/p.opf"/></c:rootfiles></c:container>',
    },
    {
      name: 'o/p.opf',
      content:
        '<opf:package xmlns:opf="http://www.idpf.org/2007/opf" xmlns:d="http://purl.org/dc/elements/1.1/"><opf:metadata><d:title>Tides</d:title></opf:metadata><opf:manifest>' +
        ['a', 'b', 'c'].map((id) => `<opf:item id="${id}" href="${id}.xhtml" media-type="application/xhtml+xml"/>`).join('') +
        '<opf:item id="d" href="d.svg" media-type="image/svg+xml"/></opf:manifest><opf:spine><opf:itemref idref="a"/><opf:itemref idref="b"/><opf:itemref idref="c"/><opf:itemref idref="d"/></opf:spine></opf:package>',
    },
    {
      name: 'o/a.xhtml',
      content:
        '<html><body><h1>Ebb</h1><p>Water<a href="#n" epub:type="noteref">1</a> falls<a href="c.xhtml#m" epub:type="noteref">2</a>.</p><aside id="n"><p>Salt water.</p></aside></body></html>',
    },
    { name: 'o/d.svg', content: '<svg/>' },
    {
      name: 'o/c.xhtml',
      content:
        '<html><body><h1>Flood</h1><div class="toctree-wrapper"><ul><li><a href="a.xhtml">Ebb and water</a></li></ul></div><p>Water rises.</p></body></html>',
    },
  ])

/** A book whose file names are UTF-8, which its archive does not say. */
const unflagged = (): Buffer =>
  makeZip([
    { name: 'META-INF/container.xml', content: '<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>' },
    {
      name: 'p.opf',
      content:
        '<package><manifest><item id="a" href="K%C3%BCste.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
    },
    { name: 'K\u00fcste.xhtml', content: '<html><body><p>Sand.</p></body></html>' },
  ])

/** A book that says what it is in Latin-1, with a formula, numbers of printed pages, a drawing and characters in a section. */
const lamps = (): Buffer =>
  makeZip([
    { name: 'META-INF/container.xml', content: '<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>' },
    {
      name: 'p.opf',
      content: Buffer.from(
        '<?xml version="1.0" encoding="iso-8859-1"?><package><metadata><dc:title>K\u00f6ln</dc:title></metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
        'latin1',
      ),
    },
    {
      name: 'a.xhtml',
      content:
        '<html><body><p>Its oil is <epub:switch id="s"><epub:case required-namespace="http://www.w3.org/1998/Math/MathML"><m:math><m:mi>x</m:mi></m:math></epub:case><epub:default>x as a picture</epub:default></epub:switch>,' +
        ' its wick <ops:switch><ops:case>unread</ops:case><ops:default>y</ops:default></ops:switch>. The lamp<span epub:type="pagebreak">12</span> burns<span role="doc-pagebreak">13</span>' +
        ' <![CDATA[all night & day]]>, from dusk until dawn, and is looked after by the watch of the mole.</p><svg><text>axis</text></svg></body></html>',
    },
  ])

/** A book whose style sheet raises and lowers small text, as LibreOffice writes it. */
const oil = (): Buffer =>
  makeZip([
    { name: 'META-INF/container.xml', content: '<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>' },
    {
      name: 'p.opf',
      content:
        '<package><manifest><item id="a" href="s/a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
    },
    {
      name: 's/a.xhtml',
      content:
        '<html><head><link href="../c/oil%201.css" rel="stylesheet"/><link href="../c/none.css" rel="stylesheet"/></head><body><p>10<span class="s3">6</span> l, 2<span class="s4">8</span>4, <span class="s5">12</span>15</p></body></html>',
    },
    {
      name: 'c/oil 1.css',
      content:
        '.s3 {\n  font-size: 0.58em;\n  position: relative;\n  top: -0.33em;\n  vertical-align: baseline;\n}\n.s4 {\n  font-size: 0.58em;\n  position: relative;\n  top: 0.33em;\n}\n.s5 { text-decoration:  line-through; }',
    },
  ])

export const EPUB_CASES: readonly FidelityCase[] = [
  {
    file: 'tides.epub',
    content: book,
    title: 'Tides',
    says: '[Ebb] Water[1] falls[2]. [1] Salt water. [Flood] Water rises.',
    warnings: [
      /^Chapters are missing in the EPUB: b\.xhtml\.$/,
      /^Chapters that are no web pages were not read: d\.svg\.$/,
      /hidden parts or texts in drawings were left out in 1 chapter\.$/,
    ],
  },
  { file: 'oil.epub', content: oil, says: '10^6 l, 2_8 4, ~~12~~ 15', warnings: [] },
  { file: 'coast.epub', content: unflagged, says: 'Sand.', warnings: [] },
  {
    file: 'lamps.epub',
    content: lamps,
    title: 'K\u00f6ln',
    says: 'Its oil is x, its wick y. The lamp burns all night & day, from dusk until dawn, and is looked after by the watch of the mole.',
    warnings: [/^Menus, headers, footers, hidden parts or texts in drawings were left out in 1 chapter\.$/],
  },
]
