import { makeZip } from '../../../fixtures/zip.ts'
import type { FidelityCase } from '../contract.ts'
import { chart, series } from './chart.ts'

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
const numbers = (level: number): string => `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="5"/></w:numPr>`
const item = (text: string, level: number): string => p(text, numbers(level))
const SYMBOL = '<w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/>'
const cell = (inside: string, properties = ''): string =>
  `<w:tc><w:tcPr>${properties}</w:tcPr>${inside.startsWith('<') ? inside : p(inside)}</w:tc>`
const row = (cells: readonly string[], properties = ''): string =>
  `<w:tr><w:trPr>${properties}</w:trPr>${cells.map((one) => (one.startsWith('<w:tc>') ? one : cell(one))).join('')}</w:tr>`
const table = (rows: readonly string[], properties = ''): string => `<w:tbl><w:tblPr>${properties}</w:tblPr>${rows.join('')}</w:tbl>`
const level = (i: number, format: string, text: string): string =>
  `<w:lvl w:ilvl="${i}"><w:start w:val="1"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/></w:lvl>`
const field = (part: string): string => `<w:r><w:fldChar w:fldCharType="${part}"/></w:r>`
const marked = (text: string, level: number, list: number): string =>
  p(text, `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${list}"/></w:numPr>`)
const note = (kind: 'foot' | 'end', id: number): string => `<w:r><w:${kind}noteReference w:id="${id}"/></w:r>`
const noteNumbers = (kind: 'foot' | 'end', name: string, value: string, more = ''): string =>
  `<w:${kind}notePr><w:${name} w:val="${value}"/>${more}</w:${kind}notePr>`
const box = (state: string): string =>
  `<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="${state}"/></w14:checkbox></w:sdtPr><w:sdtContent>${run('?')}</w:sdtContent></w:sdt>`
const math = (text: string): string => `<m:r><m:t>${text}</m:t></m:r>`
/** A field that shows what to enter. */
const empty = (inside: string): string => `<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>${inside}</w:sdtContent></w:sdt>`
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
  // The entry that a list has before one is chosen.
  {
    file: 'unchosen.docx',
    content: docx(
      p(
        `${run('Paid by ')}<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:default w:val="1"/><w:listEntry w:val="card"/><w:listEntry w:val="cash"/></w:ddList></w:ffData></w:fldChar></w:r><w:r><w:instrText>FORMDROPDOWN</w:instrText></w:r>${field('end')}`,
      ),
    ),
    says: 'Paid by cash',
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
    says: '[Notice] Thirty days[1] or[i] more. [1] In Finland nine. [i] As agreed. [Parking] Closed at ten.',
  },
  // Numbers of notes as the settings have them, and as a section does, whose properties are in its last paragraph.
  {
    file: 'numbered-notes.docx',
    content: docx(
      p(`${run('Ships')}${note('foot', 2)}`) +
        p(`${run('wait')}${note('foot', 3)}${note('end', 2)}`, `<w:sectPr>${noteNumbers('foot', 'numRestart', 'eachSect')}</w:sectPr>`) +
        p(`${run('here')}${note('foot', 4)}${note('end', 3)}`, `<w:sectPr>${noteNumbers('foot', 'numRestart', 'eachSect')}</w:sectPr>`) +
        p(`${run('all')}${note('foot', 5)}${note('foot', 6)}${run('night')}${note('end', 4)}`) +
        `<w:sectPr>${noteNumbers('foot', 'numFmt', 'chicago')}${noteNumbers('end', 'numFmt', 'decimal')}</w:sectPr>`,
      {
        footnotes: [2, 3, 4, 5, 6].map((id) => `<w:footnote w:id="${id}">${p(`foot ${id}`)}</w:footnote>`).join(''),
        endnotes: [2, 3, 4].map((id) => `<w:endnote w:id="${id}">${p(`end ${id}`)}</w:endnote>`).join(''),
        settings: `${noteNumbers('foot', 'numFmt', 'lowerLetter', '<w:numStart w:val="3"/>')}${noteNumbers('end', 'numFmt', 'upperRoman')}`,
      },
    ),
    says: 'Ships[c] [c] foot 2 wait[d][I] [d] foot 3 [I] end 2 here[c][II] [c] foot 4 [II] end 3 all[\u00a7][**]night[3] [\u00a7] foot 5 [**] foot 6 [3] end 4',
    warnings: [],
  },
  {
    file: 'paged-notes.docx',
    content: docx(p(`${run('Ships')}${note('foot', 2)}`), {
      footnotes: `<w:footnote w:id="2">${p('Or rafts.')}</w:footnote>`,
      settings: noteNumbers('foot', 'numRestart', 'eachPage'),
    }),
    says: 'Ships[1] [1] Or rafts.',
    warnings: [/^Not read: numbers of notes that begin anew on each page, which count on \(1\)\.$/],
  },
  // Footnotes and endnotes are counted apart; a mark that the author chose is in the text, and counts for none.
  {
    file: 'marked-notes.docx',
    content: docx(
      p(
        `${run('Ships')}<w:r><w:footnoteReference w:customMarkFollows="1" w:id="2"/><w:t>*</w:t></w:r>${run(' wait')}<w:r><w:endnoteReference w:id="2"/></w:r>${run(' for')}<w:r><w:footnoteReference w:id="3"/></w:r>${run(' high water')}<w:r><w:endnoteReference w:id="3"/></w:r>${run('.')}`,
      ),
      {
        footnotes: `<w:footnote w:id="2">${p('* Not rafts.')}</w:footnote><w:footnote w:id="3">${p('Or not.')}</w:footnote>`,
        endnotes: `<w:endnote w:id="2">${p('At the mole.')}</w:endnote><w:endnote w:id="3">${p('By the table.')}</w:endnote>`,
      },
    ),
    says: 'Ships* wait[i] for[1] high water[ii]. * Not rafts. [i] At the mole. [1] Or not. [ii] By the table.',
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
  // What empty fields ask for is no text of the document, in a line, as a paragraph or as a cell.
  {
    file: 'empty-fields.docx',
    content: docx(
      p(`${run('Name: ')}${empty(run('Click or tap here to enter text.'))}`) +
        p(`${run('City: ')}<w:sdt><w:sdtPr><w:text/></w:sdtPr><w:sdtContent>${run('Rome')}</w:sdtContent></w:sdt>`) +
        empty(p('Choose an item.')) +
        `<w:tbl><w:tr>${cell('Born')}${empty(cell('Enter a date.'))}${cell('x')}</w:tr>${row(['Left', 'May', 'y'])}</w:tbl>`,
    ),
    says: 'Name: City: Rome Born; ; x Left; May; y',
    warnings: [/^Not read: placeholders of empty fields \(3\)\.$/],
  },
  // Values that only a chart has.
  {
    file: 'chart.docx',
    content: docx(p(`${run('Fees rise.')}<w:r><w:drawing><wp:inline><c:chart r:id="r0"/></wp:inline></w:drawing></w:r>`) + p('So it is.'), {
      chart: chart('Fees', series('Raft', ['May', 'June'], [7, 8.5])),
    }),
    says: 'Fees rise. Fees May; Raft: 7 June; Raft: 8.5 So it is.',
    lines: ['June; Raft: 8.5'],
    warnings: [],
  },
  // Only the result of a field is shown, also of one inside the code of another.
  {
    file: 'letter.docx',
    content: docx(
      p(
        `${run('Dear ')}${field('begin')}<w:r><w:instrText> IF </w:instrText></w:r>${field('begin')}<w:r><w:instrText> MERGEFIELD sex </w:instrText></w:r>${field('separate')}${run('F')}${field('end')}<w:r><w:instrText> = "F" "</w:instrText></w:r>${run('Madam')}<w:r><w:instrText>" "Sir" </w:instrText></w:r>${field('separate')}${run('Madam')}${field('end')}${run(', pay.')}`,
      ) +
        p(`${field('begin')}<w:r><w:instrText> TC </w:instrText></w:r>`) +
        p('Or leave.'),
    ),
    says: 'Dear Madam, pay. Or leave.',
    warnings: [],
  },
  // What runs look like may be in their styles; struck text is not one word with the text after it.
  {
    file: 'styles.docx',
    content: docx(
      p(
        `${run('10')}${run('6', '<w:rStyle w:val="High"/>')}${run(' km for ')}${run('12', '<w:strike/>')}${run('15 crowns')}${run('secret', '<w:rStyle w:val="Unseen"/>')}${run('.')}`,
      ),
      {
        styles:
          '<w:style w:styleId="Up"><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style><w:style w:styleId="High"><w:basedOn w:val="Up"/></w:style><w:style w:styleId="Unseen"><w:rPr><w:vanish/></w:rPr></w:style>',
      },
    ),
    says: '10^6 km for ~~12~~ 15 crowns.',
    warnings: [/^Not read: hidden texts \(1\)\.$/],
  },
  // A struck price in two runs; a tracked deletion is gone.
  {
    file: 'struck.docx',
    content: docx(
      p(
        `${run('Rent is ')}${run('10', '<w:strike/>')}${run('0 EUR', '<w:b/><w:dstrike/>')}${run(' 120 EUR')}<w:del><w:r><w:delText> or less</w:delText></w:r></w:del>${run('.')}`,
      ),
    ),
    says: 'Rent is ~~100 EUR~~ 120 EUR.',
    warnings: [/^Not read: deletions \(1\)\.$/],
  },
  {
    file: 'unused-names.docx',
    content: docx(table([row(['Task', 'Owner', 'Hours'], '<w:tblHeader/>'), row(['Paint', '', '3']), row(['Saw', '', '4'])])),
    says: 'Task: Paint; Owner:; Hours: 3 Task: Saw; Hours: 4',
  },
  // A table in a cell is a value of its row; names of groups stand above names.
  {
    file: 'nested.docx',
    content: docx(
      table([
        row(['Item', 'Details', 'Price']),
        row(['Lamp', cell(p('Parts:') + table([row(['bulb', '2 pcs']), row(['cord', '1 m'])]) + p('')), '10']),
        row(['Chair', 'wooden', '20']),
      ]) +
        p('Sold:') +
        table([
          row([
            cell('Region', '<w:vMerge w:val="restart"/>'),
            cell('2023', '<w:gridSpan w:val="2"/>'),
            cell('2024', '<w:gridSpan w:val="2"/>'),
          ]),
          row([cell('', '<w:vMerge/>'), 'Q1', 'Q2', 'Q1', 'Q2']),
          row(['North', '5', '6', '7', '8']),
        ]) +
        p('Paid:') +
        table([row(['EUR', '2024', '2023']), row(['Rent', '7', '6']), row(['Oil', '8', '5'])]),
    ),
    lines: [
      'Item: Lamp; Details: Parts: bulb: 2 pcs, cord: 1 m; Price: 10',
      'Item: Chair; Details: wooden; Price: 20',
      'Region: North; 2023 Q1: 5; 2023 Q2: 6; 2024 Q1: 7; 2024 Q2: 8',
      'EUR: Rent; 2024: 7; 2023: 6',
    ],
  },
  {
    file: 'left-out.docx',
    content: docx(
      p(
        `${run('The fee is ')}<w:del><w:r><w:delText>5</w:delText></w:r></w:del><w:ins>${run('7')}</w:ins>${run(' crowns.')}<w:r><w:commentReference w:id="0"/></w:r><w:r><w:sym w:font="Unknown" w:char="F0FC"/></w:r>`,
      ),
      { header: p('Confidential draft'), footer: p('12') },
    ),
    says: 'The fee is 7 crowns.',
    warnings: [
      /^Not read: deletions \(1\)\.$/,
      /^Not read: comments \(1\)\.$/,
      /^Not read: symbols of the font Unknown \(1\)\.$/,
      /^Headers and footers were left out: "Confidential draft"\.$/,
    ],
  },
  {
    file: 'note-table.docx',
    content: docx(p(`${run('See')}<w:r><w:footnoteReference w:id="2"/></w:r>${run(' it.')}`), {
      footnotes: `<w:footnote w:id="2">${p('First.')}${p('Second.')}${table([row(['a', 'b'])])}</w:footnote>`,
    }),
    says: 'See[1] it. [1] First. Second. a b',
  },
  {
    file: 'marks.docx',
    content: docx(
      Array.from({ length: 28 }, (_, i) => marked(`item${i}`, 0, 1)).join('') +
        marked('zero', 0, 2) +
        marked('linked', 0, 3) +
        marked('one', 0, 5) +
        marked('two', 1, 5) +
        marked('legal', 2, 5),
      {
        numbering:
          `<w:abstractNum w:abstractNumId="1">${level(0, 'upperLetter', '%1.')}</w:abstractNum><w:abstractNum w:abstractNumId="2">${level(0, 'decimalZero', '%1.')}</w:abstractNum>` +
          `<w:abstractNum w:abstractNumId="3"><w:numStyleLink w:val="Articles"/></w:abstractNum><w:abstractNum w:abstractNumId="4"><w:styleLink w:val="Articles"/>${level(0, 'decimal', 'Art. %1')}</w:abstractNum>` +
          `<w:abstractNum w:abstractNumId="5">${level(0, 'upperRoman', '%1.')}${level(1, 'decimal', '%1.%2')}${level(2, 'decimal', '%1.%2.%3').replace('</w:lvl>', '<w:isLgl/></w:lvl>')}</w:abstractNum>` +
          [1, 2, 3, 4, 5].map((id) => `<w:num w:numId="${id}"><w:abstractNumId w:val="${id}"/></w:num>`).join(''),
      },
    ),
    lines: ['A. item0', 'Z. item25', 'AA. item26', 'BB. item27', '01. zero', 'Art. 1 linked', 'I. one', '  I.1 two', '    1.1.1 legal'],
  },
  {
    file: 'more-formulas.docx',
    content: docx(
      p(
        `<m:oMath><m:func><m:fName>${math('sin')}</m:fName><m:e>${math('x')}</m:e></m:func>${math('+')}<m:acc><m:accPr><m:chr m:val="\u0302"/></m:accPr><m:e>${math('p')}</m:e></m:acc></m:oMath>`,
      ) +
        p(
          `<m:oMath><m:sPre><m:sub>${math('6')}</m:sub><m:sup>${math('14')}</m:sup><m:e>${math('C')}</m:e></m:sPre><m:eqArr><m:e>${math('a=1')}</m:e><m:e>${math('b=2')}</m:e></m:eqArr></m:oMath>`,
        ) +
        p(
          `<m:oMath><m:d><m:e><m:f><m:fPr><m:type m:val="noBar"/></m:fPr><m:num>${math('n')}</m:num><m:den>${math('k')}</m:den></m:f></m:e></m:d><m:f><m:num>${math('c')}</m:num><m:den>${math('2a')}</m:den></m:f></m:oMath>`,
        ) +
        p(
          `<m:oMath><m:nary><m:naryPr><m:chr m:val="\u2211"/></m:naryPr><m:sub>${math('i=1')}</m:sub><m:sup>${math('n')}</m:sup><m:e><m:sSub><m:e>${math('x')}</m:e><m:sub>${math('i')}</m:sub></m:sSub>${math('y')}</m:e></m:nary></m:oMath>`,
        ),
    ),
    has: ['sin x+p\u0302', '_6^14 Ca=1; b=2', 'binom(n, k))c/(2a)', '\u2211_(i=1)^n x_i y'],
  },
  // A large initial and a paragraph whose mark was deleted go on in the next paragraph; a deleted item has no number.
  {
    file: 'continued.docx',
    content: docx(
      p(run('T'), '<w:framePr w:dropCap="drop" w:lines="3"/>') +
        p(`${run('he ship waits')}<w:r><w:footnoteReference w:id="2"/></w:r>${run(' for')}`, '<w:rPr><w:del/></w:rPr>') +
        p(run(' its pilot.')) +
        item('one', 0) +
        p('<w:del><w:r><w:delText>two</w:delText></w:r></w:del>', `${numbers(0)}<w:rPr><w:del/></w:rPr>`) +
        item('two now', 0) +
        table([row([cell(p(run('A'), '<w:framePr w:dropCap="drop"/>')), 'b'])]) +
        p(run('L'), '<w:framePr w:dropCap="margin"/>'),
      { numbering: NUMBERING, footnotes: `<w:footnote w:id="2">${p('At noon.')}</w:footnote>` },
    ),
    says: 'The ship waits[1] for its pilot. [1] At noon. 1. one 2. two now A: b L',
    has: ['The ship waits[1] for its pilot.'],
  },
  // Numbers that go on through upper levels, and marks without numbers.
  {
    file: 'restarts.docx',
    content: docx(item('Quay', 0) + item('six', 1) + item('two', 1) + item('Mole', 0) + item('lamp', 1) + marked('oil', 0, 6), {
      numbering:
        `<w:abstractNum w:abstractNumId="1">${level(0, 'decimal', 'Part %1.')}${level(1, 'decimal', '\u00a7 %2').replace('</w:lvl>', '<w:lvlRestart w:val="0"/></w:lvl>')}</w:abstractNum>` +
        `<w:abstractNum w:abstractNumId="2">${level(0, 'none', 'Note:')}</w:abstractNum>` +
        [5, 6].map((id) => `<w:num w:numId="${id}"><w:abstractNumId w:val="${id - 4}"/></w:num>`).join(''),
    }),
    says: 'Part 1. Quay \u00a7 1 six \u00a7 2 two Part 2. Mole \u00a7 3 lamp Note: oil',
  },
  // Letters of fonts of symbols; what the style of a paragraph hides, or marks as names of columns.
  {
    file: 'fonts.docx',
    content: docx(
      p(`${run('5 ')}${run('m', SYMBOL)}${run('g at ')}${run('\uf061', SYMBOL)}${run(' mm', '<w:rFonts w:ascii="Arial"/>')}`) +
        p('secret', '<w:pStyle w:val="Unseen"/>') +
        table([row(['Kind', 'Use'].map((one) => cell(p(run(one), '<w:pStyle w:val="Head"/>')))), row(['lamp', 'light'])]),
      {
        styles:
          '<w:style w:styleId="Unseen"><w:rPr><w:vanish/></w:rPr></w:style><w:style w:styleId="Head"><w:name w:val="Table Heading"/><w:rPr><w:b/></w:rPr></w:style>',
      },
    ),
    says: '5 \u03bcg at \u03b1 mm Kind: lamp; Use: light',
    warnings: [/^Not read: hidden texts \(1\)\.$/],
  },
  // Signs between the parts of a formula, what was deleted in one, and text along a path.
  {
    file: 'parts.docx',
    content: docx(
      p(
        `<m:oMath>${math('P')}<m:d><m:e>${math('A')}</m:e><m:e>${math('B')}</m:e></m:d>${math('f')}<m:d><m:dPr><m:begChr m:val="["/><m:sepChr m:val=";"/><m:endChr m:val="]"/></m:dPr><m:e>${math('x')}</m:e><m:e>${math('y')}</m:e></m:d><w:del>${math('z')}</w:del></m:oMath>`,
      ) +
        p('<w:r><w:pict><v:shape><v:textpath string="Harbour fair"/></v:shape></w:pict></w:r>') +
        p(
          `<w:r><w:drawing><wp:anchor><wp:docPr hidden="1"/><wps:txbx><w:txbxContent>${p('secret')}</w:txbxContent></wps:txbx></wp:anchor></w:drawing></w:r>`,
        ),
    ),
    says: 'P(A|B)f[x; y] Harbour fair',
    warnings: [/^Not read: deletions \(1\)\.$/, /^Not read: hidden shapes \(1\)\.$/],
  },
  // The level of a heading's number is the one that names its style, or a style that it is based on; titles of drawings; sections of characters.
  {
    file: 'linked.docx',
    content: docx(
      p('Quay', '<w:pStyle w:val="H1"/>') +
        p('Berths', '<w:pStyle w:val="H2"/>') +
        p('<w:r><w:t><![CDATA[Six < seven & more.]]></w:t></w:r>') +
        p('Lamps', '<w:pStyle w:val="Own"/>') +
        p('<w:r><w:drawing><wp:inline><wp:docPr title="Map" descr="of the mole"/></wp:inline></w:drawing></w:r>') +
        p('Mole', '<w:pStyle w:val="H2"/><w:numPr><w:ilvl w:val="0"/></w:numPr>') +
        p('Of stone.'),
      {
        numbering: `<w:abstractNum w:abstractNumId="1">${level(0, 'decimal', '%1').replace('</w:lvl>', '<w:pStyle w:val="H1"/></w:lvl>')}${level(1, 'decimal', '%1.%2').replace('</w:lvl>', '<w:pStyle w:val="H2"/></w:lvl>')}</w:abstractNum><w:num w:numId="5"><w:abstractNumId w:val="1"/></w:num>`,
        styles:
          '<w:style w:styleId="H1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="5"/></w:numPr></w:pPr></w:style>' +
          '<w:style w:styleId="H2"><w:name w:val="heading 2"/><w:basedOn w:val="H1"/></w:style><w:style w:styleId="Own"><w:basedOn w:val="H2"/></w:style>',
      },
    ),
    title: '1 Quay',
    says: '[1.1 Berths] Six < seven & more. [1.2 Lamps] Map of the mole [2 Mole] Of stone.',
  },
  // A paragraph with the style for titles stands above all headings; several are parts of the document.
  {
    file: 'd1.docx',
    content: docx(
      p('Harbour report', '<w:pStyle w:val="Titel"/>') + p('Of May.') + heading('Fees') + p('Seven.') + heading('Boats') + p('Two.'),
      { styles: '<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>' },
    ),
    title: 'Harbour report',
    says: 'Of May. [Fees] Seven. [Boats] Two.',
  },
  // Pandoc bases the styles of authors and dates on the title's, and writers other titles.
  {
    file: 'd3.docx',
    content: docx(
      p('Quay', '<w:pStyle w:val="Cover"/>') +
        p('Ann', '<w:pStyle w:val="Author"/>') +
        p('5 May', '<w:pStyle w:val="Date"/>') +
        heading('Fees') +
        p('Seven.'),
      {
        styles:
          '<w:style w:styleId="Title"><w:name w:val="Title"/></w:style>' +
          ['Author', 'Date', 'Cover']
            .map((id) => `<w:style w:styleId="${id}"><w:name w:val="${id}"/><w:basedOn w:val="Title"/></w:style>`)
            .join(''),
      },
    ),
    title: 'Quay',
    says: 'Ann 5 May [Fees] Seven.',
  },
  {
    file: 'd2.docx',
    content: docx(
      p('Quay', '<w:pStyle w:val="Title"/>') +
        heading('Fees') +
        p('Seven.') +
        p('Mole', '<w:pStyle w:val="Title"/>') +
        heading('Fees') +
        p('Two.'),
      { styles: '<w:style w:styleId="Title"><w:name w:val="Title"/></w:style>' },
    ),
    title: 'd2',
    says: '[Quay > Fees] Seven. [Mole > Fees] Two.',
  },
  // Each line of a listing is a paragraph.
  {
    file: 'listing.docx',
    content: docx(
      p('Run:') + ['def lit(x):', '    return x', 'lit(1)'].map((line) => p(line, '<w:pStyle w:val="Code"/>')).join('') + p('Done.'),
      { styles: '<w:style w:styleId="Code"><w:name w:val="Source Code"/></w:style>' },
    ),
    joined: 'Run:\ndef lit(x):\n    return x\nlit(1)Done.',
    words: 3,
  },
  // A file that is newer than its name.
  { file: 'newer.doc', content: docx(heading('Fees') + item('Pay.', 0), { numbering: NUMBERING }), says: '1. Pay.', warnings: [] },
  // Parts of another encoding than UTF-8, which XML may have.
  {
    file: 'wide.docx',
    content: () =>
      makeZip([
        {
          name: 'word/document.xml',
          content: Buffer.from(
            `\ufeff<?xml version="1.0" encoding="UTF-16"?><w:document ${W}><w:body>${p('K\u00f6ln')}</w:body></w:document>`,
            'utf16le',
          ),
        },
      ]),
    says: 'K\u00f6ln',
  },
  // Runs that are raised by points; what a field shows without a stored result; rows and cells that were deleted, or are under a merged one.
  {
    file: 'raised.docx',
    content: docx(
      p(
        `${run('10')}${run('6', '<w:position w:val="8"/>')}${run(' km of H')}${run('2', '<w:position w:val="-4"/>')}${run('O')}${run(', nearly', '<w:position w:val="1"/>')}`,
      ) +
        p(
          `${run('Dear ')}${field('begin')}<w:r><w:instrText> MACROBUTTON NoMacro [your </w:instrText></w:r><w:r><w:instrText>name]</w:instrText></w:r>${field('end')}${run(', pay ')}${field('begin')}<w:r><w:instrText>EQ \\f(1;2)</w:instrText></w:r>${field('end')}${field('begin')}<w:r><w:instrText>XE "pay"</w:instrText></w:r>${field('end')}${run('now.')}`,
        ) +
        table([
          row(['Boat', 'Fee', 'From']),
          row(['Tug', '8', 'June'], '<w:del/>'),
          row([cell('Raft', '<w:vMerge w:val="restart"/>'), cell('7', '<w:cellDel/>'), 'May']),
          row([cell('under', '<w:vMerge/>'), '15', 'July']),
        ]),
      { header: `${p('Draft')}<w:p><w:r><w:pict><v:shape><v:textpath string="Confidential"/></v:shape></w:pict></w:r></w:p>` },
    ),
    says: '10^6 km of H2O, nearly Dear [your name], pay now. Boat: Raft; From: May Boat: Raft; Fee: 15; From: July',
    warnings: [
      /^Not read: fields without a stored text \(1\)\.$/,
      /^Not read: deletions \(2\)\.$/,
      /^Not read: cells under merged ones \(1\)\.$/,
      /^Headers and footers were left out: "Draft", "Confidential"\.$/,
    ],
  },
  // Bullets that say something: a box, a check mark of a font of symbols.
  {
    file: 'checks.docx',
    content: docx([1, 2, 3, 4].map((list) => marked(`item${list}`, 0, list)).join(''), {
      numbering: ['\u2610', '\u00fc', '\u00fb', '\uf0b7']
        .map(
          (bullet, i) =>
            `<w:abstractNum w:abstractNumId="${i + 1}">${level(0, 'bullet', bullet).replace('</w:lvl>', `<w:rPr><w:rFonts w:ascii="${i === 0 ? 'Arial' : 'Wingdings'}"/></w:rPr></w:lvl>`)}</w:abstractNum><w:num w:numId="${i + 1}"><w:abstractNumId w:val="${i + 1}"/></w:num>`,
        )
        .join(''),
    }),
    lines: ['\u2610 item1', '\u2713 item2', '\u{1f5f6} item3', '- item4'],
  },
  // A number and a fraction after it are not one number.
  {
    file: 'mixed.docx',
    content: docx(
      p(
        `<m:oMath>${math('3')}<m:f><m:num>${math('1')}</m:num><m:den>${math('2')}</m:den></m:f>${math('x')}<m:f><m:num>${math('1')}</m:num><m:den>${math('4')}</m:den></m:f></m:oMath>`,
      ),
    ),
    says: '3 1/2 x 1/4',
  },
  // Cells of a table that hold a mark alone, or a list of negative numbers.
  {
    file: 'matrix.docx',
    content: docx(
      table([
        row(['Insured', cell(p(box('1'))), cell(p(box('0')))]),
        row(['Ramp', '\u2022', '&lt;']),
        row(['Frost', cell(item('-5 \u00b0C', 0) + item('-7 \u00b0C', 0)), '|']),
      ]),
      {
        numbering: `<w:abstractNum w:abstractNumId="1">${level(0, 'bullet', '\u2022')}</w:abstractNum><w:num w:numId="5"><w:abstractNumId w:val="1"/></w:num>`,
      },
    ),
    lines: ['Insured; [x]; [ ]', 'Ramp; \u2022; <', 'Frost; -5 \u00b0C, -7 \u00b0C; |'],
  },
  // Fields that a program wrote without their texts; the arrow of a reaction, and what a formula hides.
  {
    file: 'unstored.docx',
    content: docx(
      p(
        `${run('Table ')}${field('begin')}<w:r><w:instrText> SEQ Table </w:instrText></w:r>${field('end')}${run(' on page ')}<w:fldSimple w:instr="PAGE"/>`,
      ) +
        p(`${run('Lamps')}${field('begin')}<w:r><w:instrText> XE "Lamps" </w:instrText></w:r>${field('end')}${run(' burn.')}`) +
        p(
          `<m:oMath>${math('A')}<m:groupChr><m:groupChrPr><m:chr m:val="\u2192"/></m:groupChrPr><m:e>${math('heat')}</m:e></m:groupChr>${math('B')}<m:phant><m:phantPr><m:show m:val="0"/></m:phantPr><m:e>${math('x')}</m:e></m:phant></m:oMath>`,
        ),
    ),
    says: 'Table on page Lamps burn. A \u2192^heat B',
    warnings: [/^Not read: fields without a stored text \(2\)\.$/],
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
