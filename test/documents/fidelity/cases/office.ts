import { makeDoc } from '../../../fixtures/doc.ts'
import { makeZip } from '../../../fixtures/zip.ts'
import type { FidelityCase } from '../contract.ts'
import { chart, series } from './chart.ts'

const TYPE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const related = (parts: readonly (readonly [id: string, type: string, target: string])[]): string =>
  `<Relationships>${parts.map(([id, type, target]) => `<Relationship Id="${id}" Type="${TYPE}/${type}" Target="${target}"/>`).join('')}</Relationships>`

const sheet = (rows: string, merged = ''): string =>
  `<worksheet><sheetData>${rows}</sheetData>${merged === '' ? '' : `<mergeCells><mergeCell ref="${merged}"/></mergeCells>`}</worksheet>`
const text = (at: string, value: string): string => `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`

const workbook = (): Buffer =>
  makeZip([
    { name: '_rels/.rels', content: related([['r1', 'officeDocument', 'xl/workbook.xml']]) },
    {
      name: 'xl/workbook.xml',
      content:
        '<workbook xmlns:r="x"><sheets><sheet name="Fees" sheetId="1" r:id="r1"/><sheet name="Form" sheetId="2" r:id="r2"/><sheet name="Old" sheetId="3" state="hidden" r:id="r3"/></sheets></workbook>',
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      content: related([
        ['r1', 'worksheet', 'worksheets/sheet1.xml'],
        ['r2', 'worksheet', '/xl/worksheets/sheet2.xml'],
        ['r3', 'worksheet', 'worksheets/sheet3.xml'],
        ['r4', 'sharedStrings', 'sharedStrings.xml'],
        ['r5', 'styles', 'styles.xml'],
      ]),
    },
    {
      name: 'xl/sharedStrings.xml',
      content: '<sst><si><t>Boat</t></si><si><r><t>Ya</t></r><r><t>cht</t></r><rPh><t>yatto</t></rPh></si></sst>',
    },
    {
      name: 'xl/styles.xml',
      content:
        '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="&quot;EUR &quot;0.00"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="9"/><xf numFmtId="165"/><xf numFmtId="20"/></cellXfs></styleSheet>',
    },
    {
      name: 'xl/worksheets/sheet1.xml',
      content: sheet(
        `<row r="2"><c r="B2" t="s"><v>0</v></c>${text('C2', 'Fee')}${text('D2', 'From')}${text('E2', 'Share')}${text('F2', 'At')}</row>` +
          '<row r="3"><c r="B3" t="s"><v>1</v></c><c r="C3" s="3"><v>15.5</v></c><c r="D3" s="1"><v>45413</v></c><c r="E3" s="2"><v>0.25</v></c><c r="F3" s="4"><v>0.5</v></c></row>' +
          `<row r="4">${text('B4', 'Raft')}<c r="C4"><v>0.30000000000000004</v></c><c r="D4" s="1"><v>45443</v></c><c r="E4" t="b"><v>1</v></c><c r="F4"><f>A1</f></c></row>`,
      ),
    },
    {
      name: 'xl/worksheets/sheet2.xml',
      content: sheet(
        `<row r="1">${text('A1', 'Owner')}${text('B1', 'Ann Berg')}</row><row r="2">${text('A2', 'Port')}<c r="B2"><v>80</v></c></row>` +
          `<row r="5">${text('A5', 'a')}<c r="B5"><v>7</v></c><c r="C5"><v>7</v></c></row><row r="6"><c r="B6"><v>1</v></c></row>`,
        'A5:A6',
      ),
    },
    { name: 'xl/worksheets/sheet3.xml', content: sheet(`<row r="1">${text('A1', 'secret')}</row>`) },
  ])

interface Book {
  /** The last one is of the second font. */
  readonly formats?: readonly string[]
  readonly fonts?: string
  /** Items of the shared strings. */
  readonly strings?: string
  readonly properties?: string
  readonly parts?: readonly { readonly name: string; readonly content: string }[]
}

/** A workbook of one sheet with two columns: names and cells. The format of style 1 is the first. */
const book = (
  rows: Readonly<Record<string, string>>,
  { formats = [], fonts = '', strings = '', properties = '', parts = [] }: Book = {},
): Buffer =>
  makeZip([
    { name: '_rels/.rels', content: related([['r1', 'officeDocument', 'xl/workbook.xml']]) },
    {
      name: 'xl/workbook.xml',
      content: `<workbook xmlns:r="x"><workbookPr ${properties}/><sheets><sheet name="Values" sheetId="1" r:id="r1"/></sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      content: related([
        ['r1', 'worksheet', 'worksheets/sheet1.xml'],
        ['r2', 'sharedStrings', 'sharedStrings.xml'],
        ['r3', 'styles', 'styles.xml'],
      ]),
    },
    { name: 'xl/sharedStrings.xml', content: `<sst>${strings}</sst>` },
    {
      name: 'xl/styles.xml',
      content: `<styleSheet><numFmts>${formats.map((format, i) => `<numFmt numFmtId="${164 + i}" formatCode="${format}"/>`).join('')}</numFmts><fonts>${fonts}</fonts><cellXfs><xf numFmtId="0"/>${formats.map((_, i) => `<xf numFmtId="${164 + i}" fontId="${i === formats.length - 1 ? 1 : 0}"/>`).join('')}</cellXfs></styleSheet>`,
    },
    {
      name: 'xl/worksheets/sheet1.xml',
      content: sheet(
        Object.entries(rows)
          .map(([name, cell], i) => `<row r="${i + 1}">${text(`A${i + 1}`, name)}${cell}</row>`)
          .join(''),
      ),
    },
    ...parts,
  ])

const shape = (type: string, paragraphs: string): string =>
  `<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:nvPr><p:ph type="${type}"/></p:nvPr></p:nvSpPr><p:txBody>${paragraphs}</p:txBody></p:sp>`
const line = (said: string, properties = ''): string => `<a:p><a:pPr ${properties}/><a:r><a:rPr/><a:t>${said}</a:t></a:r></a:p>`
const numbered = (said: string, type: string, depth = 0): string =>
  `<a:p><a:pPr lvl="${depth}"><a:buAutoNum type="${type}"/></a:pPr><a:r><a:t>${said}</a:t></a:r></a:p>`
/** A label of a value in a chart. */
const label = (place: number, runs: string): string =>
  `<c:dLbl><c:idx val="${place}"/><c:tx><c:rich><a:p>${runs}</a:p></c:rich></c:tx></c:dLbl>`
/** The parts of a presentation of one slide, but that. */
const ONE_SLIDE = [
  { name: '_rels/.rels', content: related([['r1', 'officeDocument', 'ppt/presentation.xml']]) },
  { name: 'ppt/presentation.xml', content: '<p:presentation><p:sldIdLst><p:sldId id="256" r:id="r1"/></p:sldIdLst></p:presentation>' },
  { name: 'ppt/_rels/presentation.xml.rels', content: related([['r1', 'slide', 'slides/slide1.xml']]) },
]
/** A presentation of one slide, which has comments and is in a section. */
const slides = (shapes: string): Buffer =>
  makeZip([
    { name: '_rels/.rels', content: related([['r1', 'officeDocument', 'ppt/presentation.xml']]) },
    {
      name: 'ppt/presentation.xml',
      content:
        '<p:presentation><p:sldIdLst><p:sldId id="256" r:id="r1"/></p:sldIdLst><p:extLst><p:ext><p14:sectionLst><p14:section><p14:sldIdLst><p14:sldId id="256"/></p14:sldIdLst></p14:section></p14:sectionLst></p:ext></p:extLst></p:presentation>',
    },
    { name: 'ppt/_rels/presentation.xml.rels', content: related([['r1', 'slide', 'slides/slide1.xml']]) },
    { name: 'ppt/slides/slide1.xml', content: slide(shapes) },
    { name: 'ppt/slides/_rels/slide1.xml.rels', content: related([['r1', 'comments', '../comments/comment1.xml']]) },
  ])
const slide = (shapes: string): string => `<p:sld><p:cSld><p:spTree>${shapes}</p:spTree></p:cSld></p:sld>`
const cells = (...said: string[]): string => `<a:tr>${said.map((one) => `<a:tc><a:txBody>${line(one)}</a:txBody></a:tc>`).join('')}</a:tr>`

const presentation = (): Buffer =>
  makeZip([
    { name: '_rels/.rels', content: related([['r1', 'officeDocument', 'ppt/presentation.xml']]) },
    {
      name: 'ppt/presentation.xml',
      content: '<p:presentation><p:sldIdLst><p:sldId id="256" r:id="r2"/><p:sldId id="257" r:id="r1"/></p:sldIdLst></p:presentation>',
    },
    {
      name: 'ppt/_rels/presentation.xml.rels',
      content: related([
        ['r1', 'slide', 'slides/slide1.xml'],
        ['r2', 'slide', 'slides/slide2.xml'],
      ]),
    },
    {
      name: 'ppt/slides/slide1.xml',
      content: slide(
        shape('title', line('Fees')) +
          `<p:graphicFrame><a:tbl>${cells('Owner', 'Ann')}${cells('Port', '80')}</a:tbl></p:graphicFrame><p:pic><p:nvPicPr><p:cNvPr id="3" name="y" descr="A map"/></p:nvPicPr></p:pic>`,
      ),
    },
    {
      name: 'ppt/slides/slide2.xml',
      content: slide(
        shape('ctrTitle', line('Harbour')) + shape('body', line('Six berths') + line('two long', 'lvl="1"')) + shape('sldNum', line('1')),
      ),
    },
    { name: 'ppt/slides/_rels/slide2.xml.rels', content: related([['r1', 'notesSlide', '../notesSlides/n.xml']]) },
    {
      name: 'ppt/notesSlides/n.xml',
      content: slide(shape('body', line('Say hello.', '').replace('<a:pPr />', '<a:pPr><a:buNone/></a:pPr>')) + shape('sldNum', line('1'))),
    },
  ])

const odf =
  (kind: string, inside: string, styles = '', parts: Readonly<Record<string, string>> = {}): (() => Buffer) =>
  () =>
    makeZip([
      {
        name: 'content.xml',
        content: `<office:document-content><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:${kind}>${inside}</office:${kind}></office:body></office:document-content>`,
      },
      ...Object.entries(parts).map(([name, content]) => ({ name, content })),
    ])
const LIST =
  '<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")" text:display-levels="1"/></text:list-style><style:style style:name="T1"><style:text-properties style:text-position="super 58%"/></style:style>'
const items = (id: string, said: readonly string[], more = ''): string =>
  `<text:list xml:id="${id}" text:style-name="L1" ${more}>${said.map((one) => `<text:list-item><text:p>${one}</text:p></text:list-item>`).join('')}</text:list>`
const td = (said: string, more = ''): string => `<table:table-cell ${more}><text:p>${said}</text:p></table:table-cell>`

/** Rows of a sheet with three columns, of which the first is the key. */
const PEOPLE = {
  Name: text('B1', 'Age') + text('C1', 'City'),
  Ann: '<c r="B2"><v>31</v></c>' + text('C2', 'Rome'),
  Bo: '<c r="B3"><v>41</v></c>' + text('C3', 'Oslo'),
}

export const OFFICE_CASES: readonly FidelityCase[] = [
  {
    file: 'fees.xlsx',
    content: workbook,
    lines: [
      'Boat: Yacht; Fee: EUR 15.50; From: 2024-05-01; Share: 25%; At: 12:00',
      'Boat: Raft; Fee: 0.3; From: 2024-05-31; Share: TRUE',
      'Owner: Ann Berg',
      'Port: 80',
      'a; 7; 7',
      'a; 1',
    ],
    lacks: ['secret', 'yatto', 'Owner: Port'],
    headings: { Yacht: 'Fees', 'Owner: Ann': 'Form' },
    warnings: [/^Without stored values: 1 formula of the sheet "Fees"\.$/, /^The hidden sheet "Old" was left out\.$/],
  },
  {
    file: 'harbour.pptx',
    content: presentation,
    title: 'Harbour',
    says: '- Six berths - two long Say hello. [Fees] Owner: Ann Port: 80 A map',
    pages: { 'Six berths': 1, 'Owner: Ann': 2 },
  },
  {
    file: 'lamp.odt',
    content: odf(
      'text',
      '<text:tracked-changes><text:deletion><text:p>deleted</text:p></text:deletion></text:tracked-changes><text:h text:outline-level="1">Lamp</text:h><text:p>It burns<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Whale oil.</text:p></text:note-body></text:note><text:s text:c="2"/>10<text:span text:style-name="T1">6</text:span><text:tab/>hours<text:line-break/>a day, <text:a>see below</text:a><office:annotation><text:p>comment</text:p></office:annotation>.</text:p>' +
        '<text:list text:style-name="L1"><text:list-item><text:p>fill</text:p><text:list><text:list-item><text:p>slowly</text:p></text:list-item></text:list></text:list-item></text:list><text:p>Then:</text:p><text:list text:style-name="L1" text:continue-numbering="true"><text:list-item><text:p>light</text:p></text:list-item></text:list>' +
        '<table:table><table:table-header-rows><table:table-row>' +
        td('Kind') +
        td('Hours') +
        td('Hours off') +
        '</table:table-row></table:table-header-rows><table:table-row>' +
        td('old', 'table:number-rows-spanned="2"') +
        td('7') +
        td('7') +
        '</table:table-row><table:table-row><table:covered-table-cell/>' +
        td('9', 'table:number-columns-spanned="2"') +
        '<table:covered-table-cell/></table:table-row></table:table>' +
        '<text:p><draw:frame><svg:desc>A lamp</svg:desc><draw:image/></draw:frame><draw:frame><draw:object xlink:href="./Object 1"/></draw:frame> end</text:p><text:table-of-content><text:p>Lamp 1</text:p></text:table-of-content>',
      LIST,
      { 'Object 1/content.xml': '<math><msup><mi>x</mi><mn>2</mn></msup></math>' },
    ),
    title: 'Lamp',
    says: 'It burns[1] 10^6 hours a day, see below. [1] Whale oil. 1. fill a) slowly Then: 2. light Kind: old; Hours: 7; Hours off: 7 Kind: old; Hours: 9; Hours off: 9 A lamp x^2 end',
    warnings: [/^Not read: deletions \(1\)\.$/, /^Not read: comments \(1\)\.$/, /^Not read: tables of contents \(1\)\.$/],
  },
  // Names of columns without values.
  {
    file: 'unused-names.xlsx',
    content: book({
      Task: text('B1', 'Owner') + text('C1', 'Hours') + text('D1', 'Sign'),
      Paint: '<c r="C2"><v>3</v></c>',
      Saw: '<c r="C3"><v>4</v></c>',
    }),
    lines: ['Task: Paint; Owner:; Hours: 3; Sign:', 'Task: Saw; Hours: 4'],
  },
  {
    file: 'unused-names.pptx',
    content: slides(
      `<p:graphicFrame><a:tbl><a:tblPr firstRow="1"/>${cells('Task', 'Owner', 'Hours')}${cells('Paint', '', '3')}${cells('Saw', '', '4')}</a:tbl></p:graphicFrame>`,
    ),
    says: 'Task: Paint; Owner:; Hours: 3 Task: Saw; Hours: 4',
  },
  {
    file: 'unused-names.odt',
    content: odf(
      'text',
      `<table:table><table:table-header-rows><table:table-row>${td('Task')}${td('Owner')}${td('Hours')}</table:table-row></table:table-header-rows><table:table-row>${td('Paint')}${td('')}${td('3')}</table:table-row></table:table>`,
    ),
    says: 'Task: Paint; Owner:; Hours: 3',
  },
  // Fields of forms, as those of Word are stored.
  {
    file: 'form.odt',
    content: () => {
      const field = (type: string, ...params: readonly (readonly [name: string, value: string])[]): string =>
        `<field:fieldmark field:type="vnd.oasis.opendocument.field.${type}">${params
          .map(([name, value]) => `<field:param field:name="${name}" field:value="${value}"/>`)
          .join('')}</field:fieldmark>`
      const entries = [
        ['Dropdown_ListEntry', 'raft'],
        ['Dropdown_ListEntry', 'tug'],
      ] as const
      return odf(
        'text',
        `<text:p>Paid ${field('FORMCHECKBOX', ['Checkbox_Checked', 'true'])}, moored ${field('FORMCHECKBOX')}, boat: ${field('FORMDROPDOWN', ...entries, ['Dropdown_Selected', '1'])}, then ${field('FORMDROPDOWN', ...entries)}</text:p>`,
      )()
    },
    says: 'Paid [x], moored [ ], boat: tug, then raft',
    warnings: [],
  },
  {
    file: 'fees.ods',
    content: odf(
      'spreadsheet',
      `<table:table table:name="Fees"><table:table-row>${td('Boat')}${td('Fee')}${td('From')}<table:table-cell table:number-columns-repeated="16381"/></table:table-row><table:table-row>${td('Raft')}${td('7 kr', 'table:number-columns-repeated="2"')}</table:table-row><table:table-row table:number-rows-repeated="1048573"><table:table-cell/></table:table-row></table:table>`,
    ),
    title: 'Fees',
    says: 'Boat: Raft; Fee: 7 kr; From: 7 kr',
  },
  {
    file: 'talk.odp',
    content: odf(
      'presentation',
      '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Harbour</text:p></draw:text-box></draw:frame><draw:frame><draw:text-box><text:list><text:list-item><text:p>Six berths</text:p></text:list-item></text:list></draw:text-box></draw:frame></draw:page><draw:page><draw:frame><draw:text-box><text:p>The end.</text:p></draw:text-box></draw:frame></draw:page>',
    ),
    title: 'Harbour',
    says: '- Six berths The end.',
    pages: { 'Six berths': 1 },
  },
  {
    file: 'harbour.doc',
    content: makeDoc(
      'Harbour rules\rIt\u2019s the owner\u2019s \u2013 not the port\u2019s \u2013 \u201clamp\u201d.\rThe Donau\u001fdampf\u001fschiff comes at 7\u001e8.\rBoat\u0007Fee\u0007\rRaft\u00077 kr\u0007\rYacht\u00079 kr\u0007\rPay ahead:\rin \u20ac, or undefined.\r',
    ),
    says: 'Harbour rules It\u2019s the owner\u2019s \u2013 not the port\u2019s \u2013 \u201clamp\u201d. The Donaudampfschiff comes at 7-8. Boat: Fee Raft: 7 kr Yacht: 9 kr Pay ahead: in \u20ac, or undefined.',
    headings: { 'Pay ahead': '' },
    warnings: [/^Headings of DOC are read as plain text/],
  },
  // Rows with merged cells, whose values are of no column that is known; cells of several lines; a wider table directly below.
  {
    file: 'cells.doc',
    content: makeDoc(
      'Tab\tis none\rBoat\u0007Owner\u0007Fee\u0007\rRaft\u0007Ann\rBerg\u00077\u0007\rYacht\u0007Di\u00079\u0007\rSum\u000716\u0007\rKetch\u0007Ed\u00078\u0007\rBerth\u0007May\u0007June\u0007July\u0007\rMole\u00071\u00072\u00073\u0007\rThe end.\r',
    ),
    lines: [
      'Boat: Raft; Owner: Ann Berg; Fee: 7',
      'Boat: Yacht; Owner: Di; Fee: 9',
      'Sum; 16',
      'Boat: Ketch; Owner: Ed; Fee: 8',
      'Berth: Mole; May: 1; June: 2; July: 3',
    ],
  },
  // Dates before March 1900, fractions of seconds, raised and struck text, escapes, formulas whose text is empty.
  {
    file: 'values.xlsx',
    content: () =>
      book(
        {
          first: '<c s="1"><v>1</v></c>',
          february: '<c s="1"><v>59</v></c>',
          march: '<c s="1"><v>61</v></c>',
          run: '<c s="2"><v>0.0039105</v></c>',
          at: '<c s="3"><v>45443.604166</v></c>',
          far: '<c t="s"><v>0</v></c>',
          price: '<c t="s"><v>1</v></c>',
          lines: '<c t="s"><v>2</v></c>',
          none: '<c t="str"><f>""</f><v></v></c>',
        },
        {
          formats: ['dd.mm.yyyy', 'mm:ss.0', 'dd.mm.yyyy hh:mm'],
          strings:
            '<si><r><t>10</t></r><r><rPr><vertAlign val="superscript"/></rPr><t>6</t></r><r><t xml:space="preserve"> km</t></r></si><si><r><t>9</t></r><r><rPr><strike/></rPr><t>12</t></r><r><t>15</t></r></si><si><t>first_x000D_\nsecond _x005F_x0041_</t></si>',
        },
      ),
    says: 'first: 1900-01-01 february: 1900-02-28 march: 1900-03-01 run: 00:05:37.9 at: 2024-05-31 14:30 far: 10^6 km price: 9 ~~12~~ 15 lines: first second _x0041_ none',
    warnings: [],
  },
  // Elapsed time below a day; fractions, also such as round up; a cell that is struck out.
  {
    file: 'elapsed.xlsx',
    content: () =>
      book(
        {
          talk: '<c s="1"><v>0.0625</v></c>',
          walk: '<c s="2"><v>0.3</v></c>',
          half: '<c s="3"><v>1.5</v></c>',
          two: '<c s="3"><v>1.9999</v></c>',
          less: '<c s="4"><v>-0.99</v></c>',
          much: '<c s="5"><v>5.081</v></c>',
          both: '<c s="6"><v>5.081</v></c>',
          paid: '<c s="7"><v>9</v></c>',
        },
        {
          formats: ['[mm]:ss', '[h]:mm', '# ?/?', '# ?/8', '?/?', '[&lt;9]0.00;# ?/?', '0'],
          fonts: '<font/><font><strike/></font>',
        },
      ),
    says: 'talk: 90:00 walk: 7:12 half: 1 1/2 two: 2 less: -1 much: 46/9 both: 5.08 paid: ~~9~~',
  },
  {
    file: 'macintosh.xlsx',
    content: () => book({ day: '<c s="1"><v>43981</v></c>' }, { formats: ['d.m.yy'], properties: 'date1904="1"' }),
    says: 'day: 2024-05-31',
  },
  {
    file: 'drawn.xlsx',
    content: () =>
      book(
        { Raft: '<c><v>7</v></c>' },
        {
          parts: [
            {
              name: 'xl/worksheets/_rels/sheet1.xml.rels',
              content: related([
                ['r1', 'drawing', '../drawings/drawing1.xml'],
                ['r2', 'comments', '../comments1.xml'],
              ]),
            },
            {
              name: 'xl/drawings/drawing1.xml',
              content: '<wsDr><sp><txBody><a:p><a:r><a:t>In a box</a:t></a:r></a:p></txBody></sp><sp><txBody><a:p/></txBody></sp></wsDr>',
            },
            { name: 'xl/drawings/_rels/drawing1.xml.rels', content: related([['r1', 'chart', '../charts/chart1.xml']]) },
            { name: 'xl/comments1.xml', content: '<comments><comment/><comment/></comments>' },
          ],
        },
      ),
    says: 'Raft: 7',
    warnings: [/^Not read: text boxes \(1\)\.$/, /^Not read: charts \(1\)\.$/, /^Not read: comments \(2\)\.$/],
  },
  // Numbered lists, formulas with a picture for older programs, struck text, a description without text.
  {
    file: 'steps.pptx',
    content: () =>
      slides(
        shape(
          'body',
          numbered('Fill', 'arabicPeriod') +
            numbered('slowly', 'alphaLcParenR', 1) +
            numbered('gently', 'alphaLcParenR', 1) +
            numbered('Light', 'arabicPeriod') +
            line('Done', '') +
            numbered('Again', 'romanUcPeriod'),
        ) +
          shape(
            'x',
            '<a:p><a:r><a:t>Area </a:t></a:r><mc:AlternateContent>\n<mc:Choice><a14:m><m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath></a14:m></mc:Choice><mc:Fallback><a:r><a:t>picture</a:t></a:r></mc:Fallback></mc:AlternateContent></a:p>' +
              '<a:p><a:r><a:t>9</a:t></a:r><a:r><a:rPr strike="sngStrike"/><a:t>12</a:t></a:r><a:r><a:t>15</a:t></a:r></a:p>',
          ) +
          `<mc:AlternateContent>\n<mc:Choice>${shape('x', line('chosen'))}</mc:Choice><mc:Fallback>${shape('x', line('other'))}</mc:Fallback></mc:AlternateContent>` +
          '<p:sp><p:cNvPr descr="A lamp"/></p:sp>',
      ),
    says: '1. Fill a) slowly b) gently 2. Light - Done I. Again Area x^2 9 ~~12~~ 15 chosen A lamp',
    warnings: [/^Not read: comments \(1\)\.$/],
  },
  // Numbers restart after text and in another kind of list; cells that no other covers; letters of a font of symbols.
  {
    file: 'anew.pptx',
    content: () =>
      slides(
        shape(
          'x',
          numbered('Fill', 'arabicPeriod') +
            numbered('Wait', 'arabicPeriod') +
            line('Then:') +
            numbered('Light', 'arabicPeriod') +
            numbered('Leave', 'alphaLcPeriod'),
        ) +
          shape(
            'x',
            '<a:p><a:r><a:t>Quay </a:t></a:r><a:r><a:rPr><a:sym typeface="Wingdings"/></a:rPr><a:t>\uf0fc in J</a:t></a:r><a:r><a:rPr><a:latin typeface="Symbol"/></a:rPr><a:t> m</a:t></a:r></a:p>',
          ) +
          '<p:graphicFrame><a:tbl><a:tr><a:tc hMerge="0" vMerge="false"><a:txBody><a:p><a:r><a:t>Owner</a:t></a:r></a:p></a:txBody></a:tc><a:tc><a:txBody><a:p><a:r><a:t>Ann</a:t></a:r></a:p></a:txBody></a:tc><a:tc hMerge="1"><a:txBody><a:p><a:r><a:t>under</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></p:graphicFrame>',
      ),
    says: '1. Fill 2. Wait Then: 1. Light a. Leave Quay \u2713 in J \u03bc Owner: Ann',
    warnings: [/^Not read: cells under merged ones \(1\)\.$/, /^Not read: comments \(1\)\.$/],
  },
  // Long numbers and numbers with a currency as the program shows them; letters of fonts of symbols; strings in cells, without phonetic letters.
  {
    file: 'cells.xlsx',
    content: () =>
      book(
        {
          phone: '<c s="1"><v>491511234567890</v></c>',
          card: '<c s="1"><v>4915112345678901</v></c>',
          weight: '<c s="2"><v>1234567890123</v></c>',
          price: '<c s="3"><v>1234.5</v></c>',
          mark: '<c t="s"><v>0</v></c>',
          far: '<c t="inlineStr"><is><r><t>10</t></r><r><rPr><vertAlign val="superscript"/></rPr><t xml:space="preserve">6 </t></r><r><t>km</t></r><rPh><t>no</t></rPh></is></c>',
          dose: '<c t="inlineStr"><is><r><t xml:space="preserve">5 </t></r><r><rPr><rFont val="Symbol"/></rPr><t>m</t></r><r><rPr><rFont val="Arial"/></rPr><t>g</t></r></is></c>',
          done: '<c t="inlineStr" s="4"><is><t>\u00fc</t></is></c>',
        },
        {
          formats: ['@', 'General&quot; kg&quot;', '[$\u20ac-407] #,##0.00', '0'],
          fonts: '<font><name val="Arial"/></font><font><name val="Wingdings"/></font>',
          strings: '<si><r><rPr><rFont val="Wingdings"/></rPr><t>\u00fb</t></r><r><t xml:space="preserve"> no J</t></r></si>',
        },
      ),
    says: 'phone: 491511234567890 card: 4915112345678901 weight: 1234567890123 kg price: \u20ac 1,234.50 mark: \u{1f5f6} no J far: 10^6 km dose: 5 \u03bcg done: \u2713',
  },
  // Titles of several lines, drawings in running text, notes with superscripts, and styles of the same names in both files.
  {
    file: 'lines.odp',
    content: odf(
      'presentation',
      '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Harbour<text:line-break/>rules</text:p><text:p>of<text:s/>May</text:p></draw:text-box></draw:frame><draw:custom-shape><text:p>Six berths</text:p></draw:custom-shape></draw:page>',
    ),
    title: 'Harbour rules of May',
    says: 'Six berths',
  },
  {
    file: 'drawn.odt',
    content: odf(
      'text',
      '<text:p>The quay <draw:custom-shape><svg:title>A sign</svg:title><text:p>Keep off.</text:p></draw:custom-shape>is 10<text:span text:style-name="T1">2</text:span> m long<text:note><text:note-body><text:p>Or 10<text:span text:style-name="T1">3</text:span> ft.</text:p></text:note-body></text:note>, 5 <text:span text:style-name="T2">m</text:span>g.</text:p>',
      '<style:style style:name="T1"><style:text-properties style:text-position="super 58%"/></style:style><style:style style:name="T2"><style:text-properties style:font-name="Symbol"/></style:style>',
      {
        'styles.xml':
          '<o><office:automatic-styles><style:style style:name="T1"><style:text-properties fo:font-weight="bold"/></style:style></office:automatic-styles></o>',
      },
    ),
    says: 'The quay A sign is 10^2 m long[1], 5 \u03bcg. Keep off. [1] Or 10^3 ft.',
  },
  // Lists that go on with another between, headings without number, templates of an index, hidden sections.
  {
    file: 'numbers.odt',
    content: odf(
      'text',
      '<text:h text:style-name="P1" text:outline-level="1">Preface</text:h><text:p>Read it.</text:p><text:h text:style-name="Heading" text:outline-level="1">Quay</text:h>' +
        items('a', ['fill', 'light']) +
        items('b', ['oil', 'wick', 'wax']) +
        items('c', ['leave'], 'text:continue-list="a"') +
        items('d', ['return'], 'text:continue-numbering="true"') +
        '<text:section text:display="none"><text:p>secret</text:p></text:section>' +
        '<text:bibliography><text:bibliography-source><text:index-title-template>Sources</text:index-title-template></text:bibliography-source><text:index-body><text:p>Harbour law</text:p></text:index-body></text:bibliography>',
      `${LIST}<style:style style:name="P1" style:parent-style-name="Heading" style:list-style-name=""/>`,
      {
        'styles.xml':
          '<o><text:outline-style style:name="Outline"><text:outline-level-style text:level="1" style:num-format="1" style:num-suffix="."/></text:outline-style><style:style style:name="Heading" style:default-outline-level="1" style:list-style-name=""/></o>',
      },
    ),
    says: '[Preface] Read it. [1. Quay] 1. fill 2. light 1. oil 2. wick 3. wax 3. leave 4. return Harbour law',
    has: ['4. return'],
    warnings: [/^Not read: hidden texts \(1\)\.$/],
  },
  {
    file: 'titled.odt',
    content: odf(
      'text',
      '<text:p text:style-name="P1">Harbour report</text:p><text:h text:outline-level="1">Fees</text:h><text:p>Seven.</text:p><text:h text:outline-level="1">Boats</text:h><text:p>Two.</text:p>',
      '<style:style style:name="P1" style:parent-style-name="Title"/>',
    ),
    title: 'Harbour report',
    says: '[Fees] Seven. [Boats] Two.',
  },
  // Values that a format hides, and cells under merged ones.
  {
    file: 'unseen.xlsx',
    content: () => book({ Raft: '<c r="B1" s="1"><v>7</v></c>', Tug: text('B2', '') }, { formats: [';;;'] }),
    says: 'Raft Tug',
    warnings: [/^Not read: values that their formats hide \(1\)\.$/],
  },
  {
    file: 'unseen.ods',
    content: odf(
      'spreadsheet',
      `<table:table table:name="Fees"><table:table-row>${td('Raft', 'table:number-columns-spanned="2"')}<table:covered-table-cell><text:p>under</text:p></table:covered-table-cell>${td('7')}</table:table-row></table:table>`,
    ),
    says: 'Raft; 7',
    warnings: [/^Not read: cells under merged ones \(1\)\.$/],
  },
  // Notes have the marks that the document shows.
  {
    file: 'marks.odt',
    content: odf(
      'text',
      `<text:p>Ships${['1', 'i', '*'].map((mark) => `<text:note><text:note-citation>${mark}</text:note-citation><text:note-body><text:p>note ${mark}</text:p></text:note-body></text:note>`).join(' wait')}</text:p>`,
    ),
    says: 'Ships[1] wait[i] wait[*] [1] note 1 [i] note i [*] note *',
  },
  {
    file: 'formatted.ods',
    content: odf(
      'spreadsheet',
      `<table:table table:name="Fees"><table:table-row>${td('Raft')}<table:table-cell table:style-name="ce1" office:value-type="float" office:value="7"><text:p/></table:table-cell></table:table-row></table:table>`,
      '<style:style style:name="ce1" style:data-style-name="N1"/>',
    ),
    says: 'Raft',
    warnings: [/^Not read: values that their formats hide \(1\)\.$/],
  },
  // A month's first letter may be that of three.
  {
    file: 'months.xlsx',
    content: () => book({ Raft: '<c r="B1" s="1"><v>45443</v></c>' }, { formats: ['mmmmm'] }),
    says: 'Raft: May',
  },
  // Values without a stored text, and messages for wrong input.
  {
    file: 'values.ods',
    content: odf(
      'spreadsheet',
      `<table:content-validations><table:content-validation><table:error-message><text:p>Wrong!</text:p></table:error-message></table:content-validation></table:content-validations><table:table table:name="Fees"><table:table-row>${td('Raft')}<table:table-cell office:value-type="float" office:value="7.5"/></table:table-row><table:table-row>${td('Yacht')}<table:table-cell office:value-type="string" office:string-value="none"/></table:table-row><table:table-row>${td('Tug')}<table:table-cell office:value-type="float" office:value="0"><text:p/></table:table-cell></table:table-row></table:table>`,
    ),
    says: 'Raft: 7.5 Yacht: none Tug: 0',
  },
  // As programs write their tables with the numbers of rows.
  {
    file: 'frame.ods',
    content: odf(
      'spreadsheet',
      `<table:table table:name="Fees"><table:table-row><table:table-cell/>${td('Boat')}${td('Fee')}</table:table-row><table:table-row>${td('0')}${td('Raft')}${td('7 kr')}</table:table-row><table:table-row>${td('1')}${td('Yacht')}${td('none')}</table:table-row></table:table>`,
    ),
    lines: ['0; Boat: Raft; Fee: 7 kr', '1; Boat: Yacht; Fee: none'],
  },
  // Names of groups above names, next to empty cells and merged; years are names above other numbers.
  {
    file: 'groups.ods',
    content: odf(
      'spreadsheet',
      `<table:table table:name="Sums">${[
        ['', '2023', '', 'Plan', ''],
        ['Region', 'Q1', 'Q2', 'EUR', '2025'],
        ['North', '5', '6', '7', '8'],
        [''],
        ['Sum', '2024', '2023'],
        ['Oil', '5', '6'],
        ['Tar', '7', ''],
        [''],
        ['Ann', '2021', '2022'],
        ['Bo', '2020', '2024'],
      ]
        .map((cells) => `<table:table-row>${cells.map((one) => td(one)).join('')}</table:table-row>`)
        .join('')}</table:table>`,
    ),
    lines: [
      'Region: North; 2023 Q1: 5; 2023 Q2: 6; Plan EUR: 7; Plan 2025: 8',
      'Sum: Oil; 2024: 5; 2023: 6',
      'Sum: Tar; 2024: 7',
      'Ann; 2021; 2022',
      'Bo; 2020; 2024',
    ],
  },
  {
    file: 'struck.odt',
    content: odf(
      'text',
      '<text:p>For <text:span text:style-name="T2">12</text:span>15, 10<text:span text:style-name="T4">6</text:span> km<text:span text:style-name="T5">secret</text:span>.</text:p>',
      '<style:style style:name="T2"><style:text-properties style:text-line-through-style="solid"/></style:style><style:style style:name="T3"><style:text-properties style:text-position="super 58%"/></style:style><style:style style:name="T4" style:parent-style-name="T3"/><style:style style:name="T5"><style:text-properties text:display="none"/></style:style>',
      {
        'styles.xml':
          '<office:styles><style:header><text:p>Confidential</text:p></style:header><style:footer><text:p>3</text:p></style:footer></office:styles>',
      },
    ),
    says: 'For ~~12~~ 15, 10^6 km.',
    warnings: [/^Not read: hidden texts \(1\)\.$/, /^Headers and footers were left out: "Confidential"\.$/],
  },
  {
    file: 'days.ods',
    content: odf(
      'spreadsheet',
      `<table:table table:name="Days"><table:table-row>${td('Ann')}${td('05/31/24', 'office:date-value="2024-05-31"')}</table:table-row><table:table-row>${td('Bo')}${td('31.05. 14:30', 'office:date-value="2024-05-31T14:30:00"')}</table:table-row><table:table-row table:number-rows-repeated="150">${td('Cy')}${td('7')}</table:table-row></table:table>`,
    ),
    has: ['Ann: 2024-05-31', 'Bo: 2024-05-31 14:30', 'Cy: 7'],
    lacks: ['05/31/24'],
    warnings: [/^Not read: repeated rows \(50\)\.$/],
  },
  // Negative durations, and numbers in formats that cannot be read.
  {
    file: 'signs.xlsx',
    content: () =>
      book(
        { early: '<c s="1"><v>-0.09375</v></c>', due: '<c s="1"><v>-1.5</v></c>', age: '<c s="2"><v>12.5</v></c>' },
        { formats: ['[h]:mm', '0 Jahre'], properties: 'date1904="1"' },
      ),
    says: 'early: -2:15 due: -36:00 age: 12.5',
  },
  // Tables next to each other, with an empty column between them; one that leaves a column free is one table.
  {
    file: 'side-by-side.xlsx',
    content: () =>
      book(
        {
          Boat: `${text('B1', 'Fee')}${text('D1', 'Port')}${text('E1', 'Depth')}`,
          Raft: `<c r="B2"><v>5</v></c>${text('D2', 'Aby')}<c r="E2"><v>12</v></c>`,
          Tug: `<c r="B3"><v>7</v></c>${text('D3', 'Bay')}<c r="E3"><v>9</v></c>`,
          Ketch: '<c r="B4"><v>8</v></c>',
          '': '',
          Goods: `${text('B6', 'Owner')}${text('D6', 'May')}${text('E6', 'June')}`,
          Rope: `${text('B7', 'Ann')}<c r="D7"><v>3</v></c><c r="E7"><v>4</v></c>`,
          Tar: text('B8', 'Bo'),
        },
        { formats: ['0'], fonts: '<font/>' },
      ),
    lines: [
      'Raft: 5',
      'Tug: 7',
      'Ketch: 8',
      'Port: Depth',
      'Aby: 12',
      'Bay: 9',
      'Goods: Rope; Owner: Ann; May: 3; June: 4',
      'Goods: Tar; Owner: Bo',
    ],
  },
  // After a blank row the first row is names again only if it is bold or above numbers.
  {
    file: 'blank.xlsx',
    content: () =>
      book(
        {
          Name: `${text('B1', 'City')}${text('C1', 'Age')}`,
          Ann: `${text('B2', 'Oslo')}<c r="C2"><v>34</v></c>`,
          '': '',
          Total: '<c r="C4"><v>97</v></c>',
          ' ': '',
          Cy: `${text('B6', 'Riga')}${text('C6', 'cook')}`,
          Di: `${text('B7', 'Turku')}${text('C7', 'guard')}`,
          '  ': '',
          '   ': ['Kind', 'Use', 'Place'].map((one, i) => text(`${'BCD'.charAt(i)}9`, one).replace('<c ', '<c s="1" ')).join(''),
          '    ': ['Lamp', 'light', 'mole'].map((one, i) => text(`${'BCD'.charAt(i)}10`, one)).join(''),
        },
        { formats: ['0'], fonts: '<font/><font><b/></font>' },
      ),
    lines: ['Name: Ann; City: Oslo; Age: 34', 'Total; 97', 'Cy; Riga; cook', 'Di; Turku; guard', 'Kind: Lamp; Use: light; Place: mole'],
  },
  // A first row that says what a row below says in its column gives no names.
  {
    file: 'staff.xlsx',
    content: () =>
      book({
        Ann: text('B1', 'Oslo') + text('C1', 'cook'),
        Bo: text('B2', 'Riga') + text('C2', 'guard'),
        Cy: text('B3', 'Oslo') + text('C3', 'pilot'),
      }),
    lines: ['Ann; Oslo; cook', 'Bo; Riga; guard', 'Cy; Oslo; pilot'],
  },
  {
    file: 'blank.ods',
    content: odf(
      'spreadsheet',
      `<table:table table:name="Staff">${[
        [td('Name'), td('City'), td('Role')],
        [td('Ann'), td('Oslo'), td('chief')],
        ['<table:table-cell/>'],
        [td('Cy'), td('Riga'), td('cook')],
        [td('Di'), td('Turku'), td('guard')],
        ['<table:table-cell/>'],
        ['Kind', 'Use', 'Place'].map((one) => td(one, 'table:style-name="ce1"')),
        [td('Lamp'), td('light'), td('mole')],
      ]
        .map((cells) => `<table:table-row>${cells.join('')}</table:table-row>`)
        .join('')}</table:table>`,
      '<style:style style:name="ce1"><style:text-properties fo:font-weight="bold"/></style:style>',
    ),
    lines: ['Name: Ann; City: Oslo; Role: chief', 'Cy; Riga; cook', 'Di; Turku; guard', 'Kind: Lamp; Use: light; Place: mole'],
    lacks: ['Cy: Di'],
  },
  // Shapes and groups that are hidden on a slide.
  {
    file: 'hidden.pptx',
    content: () =>
      slides(
        shape('title', line('Harbour')) +
          shape('x', line('secret')).replace('<p:cNvPr ', '<p:cNvPr hidden="1" ') +
          `<p:grpSp><p:nvGrpSpPr><p:cNvPr id="4" name="g" hidden="true"/></p:nvGrpSpPr>${shape('x', line('secret'))}</p:grpSp>` +
          shape('x', line('Six berths')).replace('<p:cNvPr ', '<p:cNvPr hidden="0" '),
      ),
    says: 'Six berths',
    lacks: ['secret'],
    warnings: [/^Not read: hidden shapes \(2\)\.$/, /^Not read: comments \(1\)\.$/],
  },
  // What OpenDocument hides, by paragraphs, fields, sheets and slides; what repeats on slides; values without a text.
  {
    file: 'hidden.odt',
    content: odf(
      'text',
      '<text:p text:style-name="P9">secret</text:p><text:p>Open<text:hidden-text text:is-hidden="true">secret</text:hidden-text><text:hidden-text text:is-hidden="false"> daily</text:hidden-text>.</text:p><text:p><text:hidden-paragraph text:is-hidden="true"/>secret</text:p><text:p>Come<text:hidden-paragraph text:is-hidden="false"/> <loext:content-control><loext:list-item loext:display-text="in"/>in</loext:content-control>.</text:p>',
      '<style:style style:name="P8"><style:text-properties text:display="none"/></style:style><style:style style:name="P9" style:parent-style-name="P8"/>',
    ),
    says: 'Open daily. Come in.',
    lines: ['Open daily.', 'Come in.'],
    warnings: [/^Not read: hidden texts \(3\)\.$/],
  },
  {
    file: 'hidden.ods',
    content: odf(
      'spreadsheet',
      `<table:table table:name="Old" table:style-name="ta2"><table:table-row>${td('secret')}${td('7')}</table:table-row></table:table><table:table table:name="Fees" table:style-name="ta1">${[
        ['Share', 'office:value-type="percentage" office:value="0.07"'],
        ['Price', 'office:value-type="currency" office:currency="EUR" office:value="7.5"'],
        ['Time', 'office:value-type="time" office:time-value="PT36H05M00S"'],
      ]
        .map(([name = '', value = '']) => `<table:table-row>${td(name)}<table:table-cell ${value}/></table:table-row>`)
        .join('')}</table:table>`,
      '<style:style style:name="ta1"><style:table-properties table:display="true"/></style:style><style:style style:name="ta2"><style:table-properties table:display="false"/></style:style>',
    ),
    says: 'Share: 7% Price: 7.5 EUR Time: 36:05:00',
    lacks: ['secret', 'Old'],
    warnings: [/^Not read: hidden sheets \(1\)\.$/],
  },
  // Headers and footers of slides and printed pages, and objects that are no cells, are named.
  {
    file: 'around.pptx',
    content: () =>
      makeZip([
        ...ONE_SLIDE,
        {
          name: 'ppt/slides/slide1.xml',
          content: slide(
            shape('title', line('Harbour')) +
              shape('body', line('Six berths')).replace('name="x"', 'name="x" title="Berths" descr="as a list"') +
              shape('ftr', line('Confidential')) +
              shape('sldNum', line('1')),
          ),
        },
        {
          name: 'ppt/slides/_rels/slide1.xml.rels',
          content: related([
            ['r2', 'video', '../media/v.mp4'],
            ['r3', 'package', '../embeddings/x.xlsx'],
            ['r4', 'chartEx', '../charts/c.xml'],
          ]),
        },
      ]),
    says: 'Berths as a list - Six berths',
    warnings: [
      /^Not read: sounds and films \(1\)\.$/,
      /^Not read: embedded objects \(1\)\.$/,
      /^Not read: charts \(1\)\.$/,
      /^Headers and footers were left out: "Confidential"\.$/,
    ],
  },
  {
    file: 'around.xlsx',
    content: () =>
      book(
        {
          Raft: '<c><v>7</v></c></row></sheetData><headerFooter><oddHeader>&amp;L&amp;"Arial,Bold"&amp;12Confidential&amp;R&amp;P</oddHeader></headerFooter><sheetData><row r="2">',
        },
        {
          parts: [
            {
              name: 'xl/worksheets/_rels/sheet1.xml.rels',
              content: related([
                ['r1', 'drawing', '../drawings/drawing1.xml'],
                ['r2', 'oleObject', '../embeddings/o.bin'],
              ]),
            },
            { name: 'xl/drawings/drawing1.xml', content: '<wsDr><pic><nvPicPr><cNvPr descr="A map"/></nvPicPr></pic></wsDr>' },
            { name: 'xl/drawings/_rels/drawing1.xml.rels', content: related([['r1', 'diagramData', '../diagrams/d.xml']]) },
          ],
        },
      ),
    says: 'Raft: 7',
    warnings: [
      /^Not read: descriptions of pictures \(1\)\.$/,
      /^Not read: diagrams \(1\)\.$/,
      /^Not read: embedded objects \(1\)\.$/,
      /^Headers and footers were left out: "Confidential"\.$/,
    ],
  },
  {
    file: 'around.ods',
    content: odf(
      'spreadsheet',
      `<table:table table:name="Fees"><table:table-row>${td('Raft')}${td('7')}</table:table-row></table:table>`,
      '',
      {
        'styles.xml':
          '<o><style:header><text:p>List of Ann</text:p></style:header><style:footer><text:p>Page <text:page-number>1</text:page-number></text:p></style:footer></o>',
      },
    ),
    says: 'Raft: 7',
    warnings: [/^Headers and footers were left out: "List of Ann"\.$/],
  },
  {
    file: 'around.odp',
    content: odf(
      'presentation',
      '<presentation:footer-decl>Confidential</presentation:footer-decl><draw:page><draw:frame><draw:text-box><text:p>Six berths</text:p></draw:text-box></draw:frame></draw:page>',
    ),
    says: 'Six berths',
    warnings: [/^Headers and footers were left out: "Confidential"\.$/],
  },
  // Paragraphs that are numbered outside of lists, numbers that are written down, scripts, objects and fields.
  {
    file: 'numbered.odt',
    content: odf(
      'text',
      '<text:h text:outline-level="1"><text:number>3.</text:number>Quay</text:h>' +
        ['fill', 'slowly', 'light']
          .map(
            (said, i) =>
              `<text:numbered-paragraph text:list-id="n" text:style-name="L1" text:level="${i === 1 ? 2 : 1}"><text:p>${said}</text:p></text:numbered-paragraph>`,
          )
          .join('') +
        '<text:list text:style-name="L1"><text:list-item><text:number>(7)</text:number><text:p>leave</text:p></text:list-item></text:list>' +
        '<text:p>Name: <draw:control draw:control="c1"/><text:script>alert()</text:script><draw:frame><draw:object-ole xlink:href="./O"/></draw:frame></text:p>',
      LIST,
    ),
    title: '3. Quay',
    says: '1. fill a) slowly 2. light (7) leave Name:',
    warnings: [/^Not read: form fields \(1\)\.$/, /^Not read: embedded objects \(1\)\.$/],
  },
  // Formats that add to a text, minutes and seconds, values under merged cells, and form controls.
  {
    file: 'formats.xlsx',
    content: () =>
      book(
        {
          department: text('B1', 'Sales').replace('<c ', '<c s="1" '),
          plain: text('B2', 'x').replace('<c ', '<c s="2" '),
          run: '<c s="3"><v>0.003472222222222222</v></c>',
          at: '<c s="4"><v>0.5</v></c>',
          merged: `${text('B5', 'shown')}${text('C5', 'under')}</row></sheetData><mergeCells><mergeCell ref="B5:C5"/></mergeCells><sheetData><row r="6">`,
        },
        {
          formats: ['&quot;Dept. &quot;@', '_(@_)', 'mm:ss', 'h:mm:ss'],
          parts: [{ name: 'xl/worksheets/_rels/sheet1.xml.rels', content: related([['r1', 'ctrlProp', '../ctrlProps/ctrlProp1.xml']]) }],
        },
      ),
    says: 'department; Dept. Sales plain; x run; 00:05:00 at; 12:00 merged; shown',
    warnings: [/^Not read: cells under merged ones \(1\)\.$/, /^Not read: form fields \(1\)\.$/],
  },
  // Bullets that say something, and others.
  {
    file: 'checks.pptx',
    content: () =>
      slides(
        shape(
          'body',
          [
            ['Wingdings', '\u00fc'],
            ['Wingdings', '\u00fb'],
            ['Arial', '\u2022'],
          ]
            .map(
              ([font, bullet], i) =>
                `<a:p><a:pPr><a:buFont typeface="${font}"/><a:buChar char="${bullet}"/></a:pPr><a:r><a:t>item${i}</a:t></a:r></a:p>`,
            )
            .join(''),
        ),
      ),
    lines: ['\u2713 item0', '\u{1f5f6} item1', '- item2'],
  },
  {
    file: 'checks.odt',
    content: odf(
      'text',
      ['L1', 'L2'].map((style) => items(style, [style]).replace('text:style-name="L1"', `text:style-name="${style}"`)).join(''),
      ['\u2612', '\u2022']
        .map(
          (bullet, i) =>
            `<text:list-style style:name="L${i + 1}"><text:list-level-style-bullet text:level="1" text:bullet-char="${bullet}"/></text:list-style>`,
        )
        .join(''),
    ),
    lines: ['\u2612 L1', '- L2'],
  },
  {
    file: 'hidden.odp',
    content: odf(
      'presentation',
      `<draw:page><draw:frame><draw:text-box><text:p>Six berths</text:p></draw:text-box></draw:frame>${[
        'page-number',
        'footer',
        'header',
        'date-time',
      ]
        .map((one) => `<draw:frame presentation:class="${one}"><draw:text-box><text:p>again</text:p></draw:text-box></draw:frame>`)
        .join(
          '',
        )}</draw:page><draw:page draw:style-name="dp2"><draw:frame><draw:text-box><text:p>secret</text:p></draw:text-box></draw:frame></draw:page><draw:page><draw:frame><draw:text-box><text:p>The end.</text:p></draw:text-box></draw:frame></draw:page>`,
      '<style:style style:name="dp2"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>',
    ),
    says: 'Six berths The end.',
    pages: { 'Six berths': 1 },
    warnings: [/^Not read: hidden slides \(1\)\.$/],
  },
  // Dates of strict files without a time of midnight, and minutes of a duration alone.
  {
    file: 'strict.xlsx',
    content: () =>
      book(
        {
          from: '<c t="d"><v>2024-05-31T00:00:00</v></c>',
          at: '<c t="d"><v>2024-05-31T14:30:00.000</v></c>',
          minutes: '<c s="1"><v>0.5</v></c>',
        },
        { formats: ['[mm]'] },
      ),
    says: 'from: 2024-05-31 at: 2024-05-31 14:30 minutes: 720',
  },
  {
    file: 'formulas.ods',
    content: odf(
      'spreadsheet',
      `<table:table><table:table-row>${td('Sum')}<table:table-cell table:formula="of:=[.A1]"/></table:table-row></table:table>`,
    ),
    says: 'Sum',
    warnings: [/^Not read: formulas without a stored value \(1\)\.$/],
  },
  // Fields of the number of a slide, of which the file stores a placeholder.
  {
    file: 'number.odp',
    content: odf(
      'presentation',
      '<draw:page/><draw:page><draw:frame><draw:text-box><text:p>See <text:page-number>&lt;number&gt;</text:page-number> here.</text:p></draw:text-box></draw:frame></draw:page>',
    ),
    says: 'See 2 here.',
  },
  {
    file: 'number.pptx',
    content: () =>
      slides(
        shape(
          'other',
          '<a:p><a:r><a:t>See </a:t></a:r><a:fld type="slidenum"><a:t>\u2039#\u203a</a:t></a:fld><a:r><a:t> here.</a:t></a:r></a:p>',
        ),
      ),
    says: 'See 1 here.',
  },
  // Symbols of a font of which LibreOffice numbers the name.
  {
    file: 'fonts.odt',
    content: odf(
      'text',
      '<text:p>20 <text:span text:style-name="T1">\uf0b0</text:span>C</text:p>',
      '<style:style style:name="T1" style:family="text"><style:text-properties style:font-name="Symbol1"/></style:style>',
    ),
    says: '20 \u00b0C',
  },
  // Paragraphs of notes without bullets are no items.
  {
    file: 'notes.pptx',
    content: () =>
      makeZip([
        ...ONE_SLIDE,
        { name: 'ppt/slides/slide1.xml', content: slide(shape('body', line('oil'))) },
        { name: 'ppt/slides/_rels/slide1.xml.rels', content: related([['r1', 'notesSlide', '../notesSlides/n.xml']]) },
        { name: 'ppt/notesSlides/n.xml', content: slide(shape('body', line('Say hello.'))) },
      ]),
    lines: ['- oil', 'Say hello.'],
  },
  // Negative numbers in red alone; others that a format marks by words or brackets.
  {
    file: 'red.xlsx',
    content: () =>
      book(
        {
          rent: '<c s="1"><v>-1200.5</v></c>',
          wages: '<c s="1"><v>1200.5</v></c>',
          none: '<c s="1"><v>-0.001</v></c>',
          load: '<c s="2"><v>-7</v></c>',
          fee: '<c s="3"><v>-7</v></c>',
          loan: '<c s="4"><v>-7</v></c>',
          share: '<c s="5"><v>-0.07</v></c>',
          tax: '<c s="6"><v>-7</v></c>',
        },
        {
          formats: [
            '#,##0.00;[Red]#,##0.00',
            '0 &quot;kg&quot;;[Red]0 &quot;kg&quot;',
            '0_);[Red](0)',
            '0 &quot;CR&quot;;0 &quot;DR&quot;',
            '0%;[Red]0%',
            '[$EUR] 0;[Red][$EUR] 0',
          ],
        },
      ),
    lines: ['rent: -1,200.50', 'wages: 1,200.50', 'none: 0.00', 'load: -7 kg', 'fee: (7)', 'loan: 7 DR', 'share: -7%', 'tax: -EUR 7'],
  },
  {
    file: 'red.ods',
    content: odf(
      'spreadsheet',
      `<table:table table:name="Fees">${[
        ['rent', '-1200.5', '1.200,50 \u20ac'],
        ['fee', '-7', '(7)'],
        ['loan', '-7', '7 DR'],
        ['tax', '-7', '\u22127'],
      ]
        .map(
          ([name = '', value = '', shown = '']) =>
            `<table:table-row>${td(name)}${td(shown, `office:value-type="float" office:value="${value}"`)}</table:table-row>`,
        )
        .join('')}</table:table>`,
    ),
    lines: ['rent: -1.200,50 \u20ac', 'fee: (7)', 'loan: 7 DR', 'tax: \u22127'],
  },
  // A title that is drawn after the text below it.
  {
    file: 'last-title.pptx',
    content: () =>
      makeZip([
        { name: '_rels/.rels', content: related([['r1', 'officeDocument', 'ppt/presentation.xml']]) },
        {
          name: 'ppt/presentation.xml',
          content: '<p:presentation><p:sldIdLst><p:sldId id="256" r:id="r1"/><p:sldId id="257" r:id="r2"/></p:sldIdLst></p:presentation>',
        },
        {
          name: 'ppt/_rels/presentation.xml.rels',
          content: related([
            ['r1', 'slide', 'slides/slide1.xml'],
            ['r2', 'slide', 'slides/slide2.xml'],
          ]),
        },
        { name: 'ppt/slides/slide1.xml', content: slide(shape('title', line('Coast')) + shape('body', line('A map'))) },
        { name: 'ppt/slides/slide2.xml', content: slide(shape('body', line('Six berths')) + shape('title', line('Harbour'))) },
      ]),
    headings: { 'Six berths': 'Harbour' },
  },
  {
    file: 'last-title.odp',
    content: odf(
      'presentation',
      '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Coast</text:p></draw:text-box></draw:frame><draw:frame><draw:text-box><text:p>A map</text:p></draw:text-box></draw:frame></draw:page><draw:page><draw:frame presentation:class="outline"><draw:text-box><text:p>Six berths</text:p></draw:text-box></draw:frame><draw:frame presentation:class="title"><draw:text-box><text:p>Harbour</text:p></draw:text-box></draw:frame></draw:page>',
    ),
    headings: { 'Six berths': 'Harbour' },
  },
  // The values of charts: one that is missing, per cent, groups of categories, points by two numbers, dates.
  {
    file: 'charts.pptx',
    content: () =>
      makeZip([
        ...ONE_SLIDE,
        { name: 'ppt/slides/slide1.xml', content: slide(shape('title', line('Trade'))) },
        {
          name: 'ppt/slides/_rels/slide1.xml.rels',
          content: related([1, 2, 3].map((number) => [`r${number}`, 'chart', `../charts/chart${number}.xml`])),
        },
        {
          name: 'ppt/charts/chart1.xml',
          content: chart('Ships by month', series('In', ['May', 'June'], [7, undefined]), series('Out', ['May', 'June'], [0.5, 1], '0%')),
        },
        {
          name: 'ppt/charts/chart2.xml',
          content:
            '<c:ser><c:tx><c:v>Oil</c:v></c:tx><c:cat><c:multiLvlStrRef><c:multiLvlStrCache><c:lvl><c:pt idx="0"><c:v>Q1</c:v></c:pt><c:pt idx="1"><c:v>Q2</c:v></c:pt></c:lvl><c:lvl><c:pt idx="0"><c:v>2024</c:v></c:pt></c:lvl></c:multiLvlStrCache></c:multiLvlStrRef></c:cat><c:val><c:numLit><c:pt idx="0"><c:v>-3</c:v></c:pt><c:pt idx="1"><c:v>4</c:v></c:pt></c:numLit></c:val></c:ser>',
        },
        {
          name: 'ppt/charts/chart3.xml',
          content:
            '<c:date1904 val="1"/><c:ser><c:xVal><c:numRef><c:numCache><c:formatCode>yyyy\\-mm\\-dd</c:formatCode><c:pt idx="0"><c:v>43981</c:v></c:pt></c:numCache></c:numRef></c:xVal><c:yVal><c:numRef><c:numCache><c:pt idx="0" formatCode="0.00"><c:v>2.7</c:v></c:pt></c:numCache></c:numRef></c:yVal></c:ser>',
        },
      ]),
    says: 'Ships by month May; In: 7; Out: 50% June; Out: 100% 2024 Q1; Oil: -3 2024 Q2; Oil: 4 2024-05-31: 2.70',
    warnings: [],
  },
  // What a chart says besides its values: labels that were typed or are in cells, sizes of bubbles, texts drawn on it.
  {
    file: 'labels.pptx',
    content: () =>
      makeZip([
        ...ONE_SLIDE,
        { name: 'ppt/slides/slide1.xml', content: slide(shape('title', line('Trade'))) },
        { name: 'ppt/slides/_rels/slide1.xml.rels', content: related([['r1', 'chart', '../charts/chart1.xml']]) },
        {
          name: 'ppt/charts/chart1.xml',
          content: chart(
            'Margin',
            series('In', ['May', 'June', 'July'], [7, -3, 2]).replace(
              '<c:cat>',
              `<c:dLbls>${label(0, '<a:fld type="CELLRANGE"><a:t>[CELLRANGE]</a:t></a:fld>')}${label(1, '<a:r><a:t>not </a:t></a:r><a:r><a:t>audited [X]</a:t></a:r>')}<c:dLbl><c:idx val="2"/></c:dLbl></c:dLbls><c:extLst><c15:datalabelsRange><c15:dlblRangeCache><c:pt idx="0"><c:v>10 % off</c:v></c:pt></c15:dlblRangeCache></c15:datalabelsRange></c:extLst><c:cat>`,
            ),
            '<c:ser><c:tx><c:v>Ports</c:v></c:tx><c:xVal><c:numLit><c:pt idx="0"><c:v>1</c:v></c:pt></c:numLit></c:xVal><c:yVal><c:numLit><c:pt idx="0"><c:v>2</c:v></c:pt></c:numLit></c:yVal><c:bubbleSize><c:numLit><c:pt idx="0"><c:v>80</c:v></c:pt></c:numLit></c:bubbleSize></c:ser>',
          ),
        },
        { name: 'ppt/charts/_rels/chart1.xml.rels', content: related([['r1', 'chartUserShapes', '../drawings/drawing1.xml']]) },
        {
          name: 'ppt/drawings/drawing1.xml',
          content: `<?xml version="1.0"?><c:userShapes><cdr:relSizeAnchor><cdr:sp><cdr:txBody>${line('Forecast from June')}</cdr:txBody></cdr:sp></cdr:relSizeAnchor></c:userShapes>`,
        },
      ]),
    says: 'Margin Forecast from June May; In: 7 (10 % off) June; In: -3 (not audited [X]) July; In: 2 1; Ports: 2; 80',
    warnings: [],
  },
  {
    file: 'labels.odt',
    content: odf('text', '<text:p>Fees rise.<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></text:p>', '', {
      'Object 1/content.xml': `<office:body><office:chart><chart:chart><chart:series><chart:data-point><chart:data-label><text:p>not audited</text:p></chart:data-label></chart:data-point></chart:series><table:table><table:table-rows><table:table-row>${td('May')}${td('7', 'office:value="7"')}</table:table-row></table:table-rows></table:table></chart:chart></office:chart></office:body>`,
    }),
    says: 'Fees rise. not audited May: 7',
    warnings: [],
  },
  // Numbered lists in cells of slides.
  {
    file: 'numbered-cells.pptx',
    content: () =>
      slides(
        `<p:graphicFrame><a:tbl>${cells('Way', 'Do')}<a:tr><a:tc><a:txBody>${line('Close')}</a:txBody></a:tc><a:tc><a:txBody>${numbered('Shut the door', 'alphaLcParenR')}${numbered('Turn the key', 'alphaLcParenR')}${line('Report')}</a:txBody></a:tc></a:tr></a:tbl></p:graphicFrame>`,
      ),
    says: 'Way: Do Close: a) Shut the door, b) Turn the key Report',
  },
  {
    file: 'chart.odt',
    content: odf(
      'text',
      '<text:p>Fees rise.<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></text:p><text:p>Dear <text:placeholder>&lt;Name&gt;</text:placeholder>,</text:p>',
      '',
      {
        'Object 1/content.xml': `<office:body><office:chart><chart:chart><chart:title><text:p>Fees</text:p></chart:title><table:table><table:table-header-rows><table:table-row><table:table-cell/>${td('Raft')}</table:table-row></table:table-header-rows><table:table-rows><table:table-row>${td('May')}${td('7', 'office:value="7"')}</table:table-row><table:table-row>${td('June')}${td('NaN', 'office:value="NaN"')}</table:table-row></table:table-rows></table:table></chart:chart></office:chart></office:body>`,
      },
    ),
    says: 'Fees rise. Fees May; Raft: 7 June Dear ,',
    warnings: [/^Not read: placeholders of empty fields \(1\)\.$/],
  },
  // Rows of two cells right below a wider table, with values of another kind, belong to another table.
  {
    file: 'below.xlsx',
    content: () =>
      book({
        ...PEOPLE,
        Contact: text('B4', 'Dora'),
        Phone: '<c r="B5"><v>555</v></c>',
      }),
    lines: ['Name: Bo; Age: 41; City: Oslo', 'Contact: Dora', 'Phone: 555'],
  },
  {
    file: 'unknown-ages.xlsx',
    content: () =>
      book({
        ...PEOPLE,
        Cid: '<c r="B4"><v>51</v></c>',
        Dan: text('B5', 'n/a'),
      }),
    lines: ['Name: Cid; Age: 51', 'Name: Dan; Age: n/a'],
  },
  // Labels of sums are no values of the columns of numbers in which they stand.
  {
    file: 'sums.xlsx',
    content: () =>
      book({
        Item: text('B1', 'Count') + text('C1', 'Sum'),
        Lamp: '<c r="B2"><v>2</v></c><c r="C2"><v>40</v></c>',
        Oil: '<c r="B3"><v>10</v></c><c r="C3"><v>35</v></c>',
        Rope: text('B4', 'n/a') + '<c r="C4"><v>5</v></c>',
        '': text('B5', 'VAT 19 %') + '<c r="C5"><v>14</v></c>',
        ' ': '<c r="B6"><v>12</v></c><c r="C6"><v>94</v></c>',
      }),
    lines: ['Item: Rope; Count: n/a; Sum: 5', 'VAT 19 %; Sum: 14', 'Count: 12; Sum: 94'],
  },
  // Names of groups: the last, empty cells of a row are not stored.
  {
    file: 'groups.xlsx',
    content: () =>
      book({
        '': text('B1', 'North') + text('D1', 'South'),
        ' ': text('B2', '2023') + text('C2', '2024') + text('D2', '2023') + text('E2', '2024'),
        Lamp: text('B3', '1') + text('C3', '2') + text('D3', '3') + text('E3', '4'),
      }),
    lines: ['Lamp; North 2023: 1; North 2024: 2; South 2023: 3; South 2024: 4'],
  },
]
