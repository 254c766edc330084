import { makeZip } from '../../../fixtures/zip.ts'
import type { FidelityCase } from '../contract.ts'

const W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
const RELATED = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

/** A Word document of a body and further parts of `word/`. */
const docx =
  (body: string, parts: Readonly<Record<string, string>> = {}): (() => Buffer) =>
  () =>
    makeZip([
      {
        name: '_rels/.rels',
        content: `<Relationships><Relationship Id="a" Type="${RELATED}/officeDocument" Target="word/document.xml"/></Relationships>`,
      },
      {
        name: 'word/_rels/document.xml.rels',
        content: `<Relationships>${Object.keys(parts)
          .map((part, i) => `<Relationship Id="r${i}" Type="${RELATED}/${part}" Target="${part}.xml"/>`)
          .join('')}</Relationships>`,
      },
      { name: 'word/document.xml', content: `<w:document ${W}><w:body>${body}</w:body></w:document>` },
      ...Object.entries(parts).map(([part, inside]) => ({ name: `word/${part}.xml`, content: `<w:${part} ${W}>${inside}</w:${part}>` })),
    ])
const run = (text: string, properties = ''): string => `<w:r><w:rPr>${properties}</w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`
const p = (inside: string, properties = ''): string =>
  `<w:p><w:pPr>${properties}</w:pPr>${inside.startsWith('<') ? inside : run(inside)}</w:p>`
const heading = (text: string, level = 1, more = ''): string => p(text, `<w:outlineLvl w:val="${level - 1}"/>${more}`)
const item = (text: string, level: number): string => p(text, `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="5"/></w:numPr>`)
const cell = (inside: string, properties = ''): string =>
  `<w:tc><w:tcPr>${properties}</w:tcPr>${inside.startsWith('<') ? inside : p(inside)}</w:tc>`
const row = (cells: readonly string[], properties = ''): string =>
  `<w:tr><w:trPr>${properties}</w:trPr>${cells.map((one) => (one.startsWith('<w:tc>') ? one : cell(one))).join('')}</w:tr>`
const table = (rows: readonly string[], properties = ''): string => `<w:tbl><w:tblPr>${properties}</w:tblPr>${rows.join('')}</w:tbl>`
const level = (i: number, format: string, text: string): string =>
  `<w:lvl w:ilvl="${i}"><w:start w:val="1"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/></w:lvl>`
const NUMBERING = `<w:abstractNum w:abstractNumId="1">${level(0, 'decimal', '%1.')}${level(1, 'decimal', '%1.%2.')}${level(2, 'lowerLetter', '%3)')}</w:abstractNum><w:num w:numId="5"><w:abstractNumId w:val="1"/></w:num>`

export const DOCX_CASES: readonly FidelityCase[] = [
  {
    file: 'fields.docx',
    content: docx(
      p(
        `${run('Signed by ')}<w:fldSimple w:instr="DOCPROPERTY Signer">${run('Inspector Ravn')}</w:fldSimple>${run(' on ')}<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>DATE</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>${run('4 May')}<w:r><w:fldChar w:fldCharType="end"/></w:r>${run(', ')}<w:hyperlink w:anchor="x">${run('see below')}</w:hyperlink><w:sdt><w:sdtContent>${run(' by Ann')}</w:sdtContent></w:sdt>${run('.')}`,
      ) +
        p(
          `<w:ins>${run('Ships wait')}</w:ins><w:del><w:r><w:delText>sail</w:delText></w:r></w:del>${run('secret', '<w:vanish/>')}<w:r><w:noBreakHyphen/><w:t>ly 10</w:t></w:r>${run('6', '<w:vertAlign w:val="superscript"/>')}<w:r><w:tab/><w:t>km </w:t></w:r><w:r><w:sym w:font="Symbol" w:char="F061"/></w:r><w:dir w:val="rtl">${run(' end')}</w:dir>`,
        ),
    ),
    says: 'Signed by Inspector Ravn on 4 May, see below by Ann. Ships wait-ly 10^6 km \u03b1 end',
  },
  {
    file: 'formulas.docx',
    content: docx(
      p(
        `${run('The area is ')}<m:oMath><m:r><m:t>A=12</m:t></m:r><m:sSup><m:e><m:r><m:t>b</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>${run(' square metres.')}`,
      ) +
        p(
          '<m:oMathPara><m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b+c</m:t></m:r></m:den></m:f></m:oMath></m:oMathPara>',
        ),
    ),
    says: 'The area is A=12b^2 square metres. a/(b+c)',
  },
  {
    file: 'notes.docx',
    content: docx(
      heading('Notice') +
        p(
          `${run('Thirty days')}<w:r><w:footnoteReference w:id="2"/></w:r>${run(' or')}<w:r><w:endnoteReference w:id="2"/></w:r>${run(' more.')}`,
        ) +
        heading('Parking') +
        p('Closed at ten.'),
      {
        footnotes: `<w:footnote w:id="2">${p('In Finland nine.')}</w:footnote>`,
        endnotes: `<w:endnote w:id="2">${p('As agreed.')}</w:endnote>`,
      },
    ),
    says: '[Notice] Thirty days[1] or[2] more. [1] In Finland nine. [2] As agreed. [Parking] Closed at ten.',
  },
  {
    file: 'numbers.docx',
    content: docx(
      heading('Terms', 1, '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="5"/></w:numPr>') +
        item('Rent is due.', 1) +
        item('in cash', 2) +
        item('by card', 2) +
        p('A note between.') +
        item('Keys stay here.', 1) +
        heading('Costs', 1, '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="5"/></w:numPr>') +
        item('Water.', 1),
      { numbering: NUMBERING },
    ),
    says: '[1. Terms] 1.1. Rent is due. a) in cash b) by card A note between. 1.2. Keys stay here. [2. Costs] 2.1. Water.',
    lines: ['1.1. Rent is due.', '  a) in cash'],
  },
  {
    file: 'tables.docx',
    content: docx(
      table([row(['Applicant', 'Ann Berg']), row(['Supervisor', 'Bo Lund'])], '<w:tblLook w:firstRow="1"/>') +
        p('Scores:') +
        table([
          row(['Team', 'Won', 'Lost'], '<w:tblHeader/>'),
          row(['Ants', '7', '7']),
          row(['Bees', cell('none', '<w:gridSpan w:val="2"/>')]),
        ]) +
        p('Plain:') +
        table([
          row([cell('North', '<w:vMerge w:val="restart"/>'), '7', '7']),
          row([cell('', '<w:vMerge/>'), '1', '2']),
          row(['a', cell(item('first', 0) + item('second', 0)), 'c']),
        ]) +
        p('Bold:') +
        table([row([1, 2, 3].map((i) => cell(p(run(`Name ${i}`, '<w:b/>'))))), row(['x', 'y', 'z'])]),
      { numbering: NUMBERING },
    ),
    lines: [
      'Applicant: Ann Berg',
      'Supervisor: Bo Lund',
      'Team: Ants; Won: 7; Lost: 7',
      'Team: Bees; Won: none; Lost: none',
      'North; 7; 7',
      'North; 1; 2',
      'a; 1. first, 2. second; c',
      'Name 1: x; Name 2: y; Name 3: z',
    ],
    lacks: ['Applicant: Supervisor'],
  },
  {
    file: 'boxes.docx',
    content: docx(
      p('Contents', '') +
        p(
          `${run('Before the box.')}<w:r><mc:AlternateContent><mc:Choice><w:drawing><wp:inline><wp:docPr descr="A map"/><wps:txbx><w:txbxContent>${p('Inside the box.')}</w:txbxContent></wps:txbx></wp:inline></w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox><w:txbxContent>${p('Inside the box.')}</w:txbxContent></v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>`,
        ) +
        p('<w:r><w:drawing><wp:inline><c:chart/></wp:inline></w:drawing></w:r>') +
        p(
          `<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="1"/></w14:checkbox></w:sdtPr><w:sdtContent>${run('\u2612')}</w:sdtContent></w:sdt>${run(' paid ')}<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="0"/></w:checkBox></w:ffData></w:fldChar></w:r>${run(' sent')}`,
        ),
    ),
    says: 'Contents Before the box. A map Inside the box. [x] paid [ ] sent',
    warnings: [/^Not read: charts \(1\)\.$/],
  },
]

/** Cases of files in ../shared. */
export const SHARED_DOCX_CASES: readonly FidelityCase[] = [
  { file: 'fldsimple.docx', says: 'Signed by Inspector Ravn in May.' },
  { file: 'omml.docx', says: 'The area is A=12b square metres.' },
  {
    file: 'longfoot.docx',
    says: '[Handbook] Intro text. [Notice periods] The notice period is thirty days[1] [1] The exception is Finland, where it is nine days. [Parking] The garage closes at ten in the evening.',
  },
  { file: 'form.docx', lines: ['Applicant name: Ann Berg', 'Supervisor: Bo Lund'], lacks: ['Applicant name: Supervisor'] },
]
