import { deflateSync } from 'node:zlib'
import { makePdf, makePdfOf, type PdfLine, type PdfRun } from '../../../fixtures/pdf.ts'
import type { FidelityCase } from '../contract.ts'

const raised = (text: string): PdfRun => ({ text, size: 6, rise: 4 })
const pages = (lines: (page: number) => readonly PdfLine[], count = 4) => makePdf(Array.from({ length: count }, (_, i) => lines(i + 1)))
const small = (text: string): PdfRun => ({ text, size: 8 })
const ENTRIES = Array.from({ length: 12 }, (_, i) => `Part ${i + 1} of the rules . . . . . . . . ${i < 6 ? 1 : 2}`)
const STOCK = ['Rope', 'Anchor', 'Sail', 'Lamp', 'Net', 'Buoy', 'Tar', 'Chain', 'Oar', 'Flag', 'Mast', 'Bell']
const PROSE = 'The watch looks after the lamp from dusk until dawn and notes each ship'
/** A paragraph over several pages: each page is filled by sentences that name it. */
const sentences = (page: number): string[] =>
  Array.from({ length: 30 }, (_, i) => `and buoy ${100 * page + i} of this water is seen from the mole by the watch that is there`)

const GOODS = ['rope', 'two anchors', 'lamp oil', 'sail cloth']
const billed = (number: (i: number) => string): string[] =>
  GOODS.map(
    (goods, i) =>
      `Bill ${number(i)}\nDay: ${i + 3}.05.2025\nGoods: ${goods}\nBrought to the quay.\nSum: ${120 * (i + 1)} crowns\nTotal: ${150 * (i + 1)} crowns`,
  )

/** Lines of text in the second font, from the top of a page. */
const linesOf = (lines: readonly string[]): string => lines.map((line, i) => `BT /F2 12 Tf 50 ${700 - 14 * i} Td ${line} Tj ET`).join('\n')
const namedLetters = (differences: string): string =>
  `<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding << /BaseEncoding /WinAnsiEncoding /Differences [${differences}] >> >>`
/** Letters of Hebrew and Arabic as fonts have them: a code each, by its character. */
const rightToLeft = (letters: string): string => {
  const names = Array.from(letters, (letter) => `/uni${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`)
  return namedLetters(`1 ${names.join(' ')}`).replace(
    '/Encoding',
    `/FirstChar 1 /LastChar ${names.length} /Widths [${names.map(() => 583).join(' ')}] /Encoding`,
  )
}
const codes = (text: string, letters: string): string =>
  `<${Array.from(text, (letter) => (letters.includes(letter) ? letters.indexOf(letter) + 1 : letter.charCodeAt(0)).toString(16).padStart(2, '0')).join('')}>`
/** The letters of "shalom olam", and of "marhaban" as they are shown. */
const [HEBREW, ARABIC] = ['\u05e9\u05dc\u05d5\u05dd\u05e2', '\ufee3\ufeae\ufea3\ufe92\ufe8e']
/** A PDF that says what its title is. */
const titled = (pdf: Buffer, title: string): Buffer =>
  Buffer.from(pdf.toString('latin1').replace('/Root 1 0 R', `/Root 1 0 R /Info << /Title (${title}) >>`), 'latin1')
const reversed = (text: string): string => Array.from(text).reverse().join('')
const widget = (more: string, left: number, low: number): string =>
  `<< /Type /Annot /Subtype /Widget /F 4 /Rect [${left} ${low} ${left + 100} ${low + 14}] ${more} >>`

/** A line of cells that begin at the same places; an empty one is not printed. */
const cells = (...texts: readonly string[]): readonly PdfRun[] => texts.flatMap((text, i) => (text === '' ? [] : [{ text, at: 90 * i }]))
/** Numbers that end at the same places. */
const amounts = (name: string, ...texts: readonly string[]): readonly PdfRun[] => [
  { text: name },
  ...texts.flatMap((text, i) => (text === '' ? [] : [{ text, at: 160 + 80 * i - 6.67 * text.length }])),
]

/** A row of a table: its cells by their distance from the left margin. */
const placed = (row: Readonly<Record<number, string>>): PdfRun[] => Object.entries(row).map(([left, text]) => ({ text, at: Number(left) }))

/** Texts at places of a page, by their distances from its left and its lower edge. */
const printedAt = (...texts: readonly (readonly [left: number, low: number, text: string])[]): string =>
  texts.map(([left, low, text]) => `BT /F1 12 Tf ${left} ${low} Td (${text}) Tj ET`).join('\n')

const BOLD = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>'
const inRow = (low: number, row: Readonly<Record<number, string>>) =>
  Object.entries(row).map(([left, text]) => [Number(left), low, text] as const)

export const PDF_CASES: readonly FidelityCase[] = [
  // Names in bold type above texts, of which some have several lines and some are empty.
  {
    file: 'bold-names.pdf',
    content: () =>
      makePdfOf({
        font: BOLD,
        content: [
          printedAt(...inRow(700, { 50: 'Boat', 140: 'Owner', 230: 'State', 320: 'Note' })).replaceAll('/F1', '/F2'),
          printedAt(...inRow(675, { 50: 'Raft', 140: 'Ann' }), [140, 661, 'Berg'], ...inRow(682, { 230: 'sold' })),
          printedAt([320, 682, 'left in March, two weeks'], [320, 668, 'before the self-'], [320, 654, 'made plan']),
          printedAt(...inRow(630, { 50: 'Tug', 140: 'Bo Lund', 320: 'late' }), ...inRow(610, { 50: 'Ketch', 230: 'open' })),
        ].join('\n'),
      }),
    says: 'Boat Owner State Note Boat: Raft; Owner: Ann Berg; State: sold; Note: left in March, two weeks before the self-made plan Boat: Tug; Owner: Bo Lund; Note: late Boat: Ketch; State: open',
  },
  // A row whose first cell is merged with the one above has no names of columns; short cells keep their places.
  {
    file: 'groups.pdf',
    content: () =>
      makePdfOf({
        content: printedAt(
          ...inRow(700, { 50: 'Group', 150: 'Goods', 250: 'Limit' }),
          ...inRow(686, { 50: 'Metals', 150: 'Lead', 250: '0.1 crates' }),
          ...inRow(672, { 150: 'Zinc', 250: '<5 crates' }),
          ...inRow(658, { 50: 'Oils', 150: 'Tar', 250: '500 ppm' }),
          ...inRow(644, { 150: 'Lamp oil', 250: '50 ppm' }),
          ...inRow(560, { 50: 'Task', 150: 'Ann', 250: 'Bo', 350: 'Cy' }),
          ...inRow(546, { 50: 'Sail', 150: 'R', 250: 'A', 350: 'C' }),
          ...inRow(532, { 50: 'Moor', 250: 'R', 350: 'I' }),
          ...inRow(518, { 50: 'Row', 150: 'A', 250: 'I', 350: 'R' }),
          ...inRow(450, { 50: 'Hour', 290: '14:00-15:30' }),
          [50, 420, 'The place'],
          [50, 406, 'Below the mole.'],
          ...inRow(392, { 50: 'Act', 150: 'Owner', 290: 'Due', 400: 'Done' }),
          ...inRow(378, { 50: 'Tar the hull', 150: 'AB', 290: '15 Mar', 400: 'yes' }),
        ),
      }),
    lines: [
      'Metals Lead 0.1 crates',
      'Zinc <5 crates',
      'Oils Tar 500 ppm',
      'Lamp oil 50 ppm',
      'Moor; ; R; I',
      'Row A I R',
      'Hour 14:00-15:30',
    ],
  },
  // Names that are repeated in groups; a row above the names of the next table names nothing.
  {
    file: 'repeated-groups.pdf',
    content: () =>
      makePdfOf({
        font: BOLD,
        content: [
          printedAt(
            ...inRow(700, { 50: 'Boat', 190: 'Fees', 360: 'Trips' }),
            ...inRow(686, { 150: '2023', 240: '2024', 330: '2023', 420: '2024' }),
          ),
          printedAt(...inRow(672, { 50: 'Raft', 150: '10', 240: '12', 330: '100', 420: '120' })),
          printedAt(...inRow(658, { 50: 'Tug', 150: '20', 330: '90', 420: '95' })),
          printedAt([50, 600, 'People'], ...inRow(586, { 50: 'Ann', 180: 'Head', 300: 'Aby' })),
          printedAt(...inRow(572, { 50: 'Bo', 300: 'Bay' }), ...inRow(558, { 50: 'Cy', 180: 'Cook' })),
          printedAt(...inRow(534, { 50: 'Name', 180: 'Role', 300: 'Port' })).replaceAll('/F1', '/F2'),
          printedAt(...inRow(520, { 50: 'Dag', 180: 'Mate', 300: 'Aby' }), ...inRow(506, { 50: 'Eva', 300: 'Bay' })),
        ].join('\n'),
      }),
    has: [
      'Raft; Fees 2023: 10; Fees 2024: 12; Trips 2023: 100; Trips 2024: 120',
      'Tug; Fees 2023: 20; Trips 2023: 90; Trips 2024: 95',
      'Cy Cook',
      'Name: Dag; Role: Mate; Port: Aby',
      'Name: Eva; Port: Bay',
    ],
  },
  // Names on two lines, and dates that are divided: cells that are printed one by one, also in the middle of their row; rows of names; a larger text below.
  {
    file: 'divided-names.pdf',
    content: () =>
      makePdfOf({
        content: [
          printedAt(
            [50, 700, 'Paid'],
            [50, 686, 'on'],
            [150, 700, 'Details'],
            [250, 700, 'Money'],
            [250, 686, 'out'],
            [330, 700, 'Money'],
            [330, 686, 'in'],
          ),
          printedAt([50, 664, '2026-01-'], [50, 650, '02'], ...inRow(664, { 150: 'Rent', 250: '900' })),
          printedAt([50, 628, '2026-01'], [50, 614, '-03'], ...inRow(621, { 150: 'Salary', 330: '2,500' })),
          printedAt(...inRow(560, { 250: 'Fish', 330: 'Fish' }), ...inRow(542, { 50: 'Week', 150: 'Boat', 250: 'sold', 330: 'eaten' })),
          printedAt(...inRow(520, { 50: 'First', 150: 'Raft', 250: '41' }), ...inRow(500, { 50: 'Second', 150: 'Tug', 330: '2' })),
          printedAt(...inRow(450, { 50: 'Night', 150: 'Lamp', 250: 'Oil', 330: 'Oil' }), ...inRow(432, { 250: 'bought', 330: 'burnt' })),
          printedAt(...inRow(410, { 50: 'Friday', 150: 'North', 330: '7' }), ...inRow(390, { 50: 'Sunday', 150: 'South', 250: '9' })),
          printedAt([50, 373, 'The watch fills the lamps each night.']).replaceAll('12 Tf', '13 Tf'),
        ].join('\n'),
      }),
    lines: [
      'Paid on: 2026-01-02; Details: Rent; Money out: 900',
      'Paid on: 2026-01-03; Details: Salary; Money in: 2,500',
      'Week: First; Boat: Raft; Fish sold: 41',
      'Week: Second; Boat: Tug; Fish eaten: 2',
      'Night: Friday; Lamp: North; Oil burnt: 7',
      'Night: Sunday; Lamp: South; Oil bought: 9',
    ],
  },
  // Spreadsheets print wrapped cells after all others: at the top of their rows, and at the foot.
  {
    file: 'wrapped-sheet.pdf',
    content: () =>
      makePdfOf({
        content: [
          printedAt(...inRow(700, { 50: 'Paid on', 250: 'Goods' }), ...inRow(670, { 150: 'Raft', 250: 'rope', 350: '900' })),
          printedAt(...inRow(640, { 150: 'Tug', 350: '1,200' }), ...inRow(596, { 150: 'Barge', 250: 'coal', 350: '75' })),
          printedAt(
            [150, 700, 'Ship and'],
            [150, 686, 'master'],
            [350, 700, 'Money'],
            [350, 686, 'out'],
            [50, 670, '2026-01-'],
            [50, 656, '02'],
          ),
          printedAt([50, 640, '2026-01-'], [50, 626, '03'], [250, 640, 'two anchors'], [250, 626, 'and a sail'], [250, 612, 'cloth']),
          printedAt([50, 596, '2026-02-'], [50, 582, '14']),
        ].join('\n'),
      }),
    lines: [
      'Paid on: 2026-01-02; Ship and master: Raft; Goods: rope; Money out: 900',
      'Paid on: 2026-01-03; Ship and master: Tug; Goods: two anchors and a sail cloth; Money out: 1,200',
      'Paid on: 2026-02-14; Ship and master: Barge; Goods: coal; Money out: 75',
    ],
  },
  {
    file: 'low-sheet.pdf',
    content: () =>
      makePdfOf({
        content: [
          printedAt(...inRow(686, { 50: 'Task', 150: 'Owner', 350: 'Sign' }), ...inRow(656, { 50: 'Paint', 250: '3' })),
          printedAt(...inRow(612, { 150: 'Bo', 250: '12' }), [250, 700, 'Hours'], [250, 686, 'spent']),
          printedAt([50, 640, 'Tar the'], [50, 626, 'hull of'], [50, 612, 'the tug']),
        ].join('\n'),
      }),
    lines: ['Task: Paint; Hours spent: 3', 'Task: Tar the hull of the tug; Owner: Bo; Hours spent: 12'],
  },
  // Names of columns that each page repeats are no running head.
  {
    file: 'repeated-names.pdf',
    content: () =>
      pages((page) => [
        cells('Boat', 'Owner', 'State'),
        [],
        ...[1, 2, 3].map((i) => cells(`Raft ${page}${i}`, i === 2 ? '' : 'Ann', `${i} kg`)),
      ]),
    has: ['Boat Owner State', 'Boat: Raft 11; Owner: Ann; State: 1 kg', 'Boat: Raft 42; State: 2 kg'],
  },
  // A running head of three parts; the number of an item close to it.
  {
    file: 'three-parts.pdf',
    content: () =>
      pages((page) => [
        [{ text: 'Port of Aby' }, { text: 'Manual', at: 200 }, { text: 'Issue C', at: 400 }],
        [],
        [{ text: '10.' }, { text: `Tar all hulls before May, page ${page}.`, at: 13.9 }],
        PROSE,
        `${PROSE}.`,
      ]),
    lacks: ['Manual'],
    has: ['10. Tar all hulls before May, page 1.', '10. Tar all hulls before May, page 4.'],
    warnings: [/^4 lines are left out as running heads: "Port of Aby Manual Issue C"\.$/],
  },
  // A cell that is printed lower than others of its row has a power; rows in larger letters are no headings.
  {
    file: 'lower-cell.pdf',
    content: () =>
      makePdfOf({
        content: [
          printedAt([50, 700, 'Cells'], [120, 700, '7.8'], [200, 696.7, '10'], [300, 700, '4.0']),
          'BT /F1 10 Tf 213.4 701.5 Td (9) Tj ET BT /F1 12 Tf 219 696.7 Td (/L) Tj ET',
          printedAt(...inRow(670, { 50: 'Lamp', 120: '5.00', 200: '0.00', 300: '1.00' })).replace(/ 12 Tf/g, ' 14 Tf'),
          printedAt(...[0, 1, 2].map((i) => [50, 640 - 14 * i, `${PROSE}.`] as const)),
        ].join('\n'),
      }),
    lines: ['Cells 7.8 10^9/L 4.0', 'Lamp 5.00 0.00 1.00'],
  },
  // The bullet of a further level in Word is a letter of another font. In text it is a word.
  {
    file: 'letter-bullet.pdf',
    content: () =>
      makePdfOf({
        font: BOLD.replace('Helvetica-Bold', 'Courier'),
        content: [
          printedAt([50, 700, 'Bring:'], [70, 686, '- Rope']),
          `BT /F2 12 Tf 100 672 Td (o) Tj ET ${printedAt([120, 672, 'ten metres long'])}`,
          `BT /F2 12 Tf 100 658 Td (o) Tj ET ${printedAt([120, 658, 'without knots'])}`,
          printedAt([50, 620, 'O barco navega pelo rio e'], [50, 606, 'o vento sopra.']),
        ].join('\n'),
      }),
    lines: ['- Rope', '- ten metres long', '- without knots', 'O barco navega pelo rio e o vento sopra.'],
  },
  // The name of two rows of numbers is printed in the middle of them, or in the lower one before the upper one: it is read with one of them.
  {
    file: 'name-of-two-rows.pdf',
    content: () =>
      makePdfOf({
        content: printedAt(
          ...inRow(700, { 50: 'Goods', 150: 'March', 250: 'April' }),
          ...inRow(685, { 150: '1', 250: '2' }),
          [50, 677.5, 'Rope'],
          ...inRow(670, { 150: '11', 250: '12' }),
          [50, 640, 'Sail'],
          ...inRow(655, { 150: '3', 250: '4' }),
          ...inRow(640, { 150: '13', 250: '-' }),
        ),
      }),
    lines: ['March: 1; April: 2', 'Goods: Rope; March: 11; April: 12', 'Goods: Sail; March: 3; April: 4', 'March: 13; April: -'],
  },
  // A foot that is printed before the text, and a head that is printed after it.
  {
    file: 'edges.pdf',
    content: () =>
      makePdfOf({
        content: printedAt(
          [50, 40, 'Port of Aby'],
          ...[0, 1, 2, 3, 4, 5, 6, 7].map((i) => [50, 700 - 14 * i, `Ship ${i + 1} is in the harbour.`] as const),
          [50, 780, 'List of May'],
        ),
      }),
    says: `List of May ${[1, 2, 3, 4, 5, 6, 7, 8].map((i) => `Ship ${i} is in the harbour.`).join(' ')} Port of Aby`,
  },
  // A title closely below the last item of a list, above a table.
  {
    file: 'captioned.pdf',
    content: () =>
      makePdfOf({
        content: printedAt(
          ...([
            [90, 261, 'x'],
            [108, 261, 'oil the lamp'],
            [90, 245, 'x'],
            [108, 245, 'coil the rope'],
            [72, 229, 'Depths of ports'],
          ] as const),
          ...([
            [72, 207, 'Port'],
            [289, 207, 'Depth'],
            [383, 207, 'Note'],
            [72, 189, 'Aby'],
            [302, 189, '5 m'],
          ] as const),
          ...([
            [72, 171, 'Bay'],
            [285, 171, '12 m'],
            [382, 171, 'deep'],
          ] as const),
        ),
      }),
    says: 'x oil the lamp x coil the rope Depths of ports Port Depth Note Port: Aby; Depth: 5 m Port: Bay; Depth: 12 m; Note: deep',
  },
  // Items of slides have larger letters than the tables below them.
  {
    file: 'slide.pdf',
    content: () =>
      makePdf([
        [
          [{ text: 'Fees of May', size: 24 }],
          [{ text: '\xb7 Raft: 5 crowns', size: 18 }],
          [{ text: '\xb1 in cash', size: 16 }],
          cells('Boat', 'May', 'June'),
          cells('Raft', '5', '7'),
          cells('Tug', '9', '8'),
          PROSE,
          PROSE,
        ],
      ]),
    title: 'Fees of May',
    says: `- Raft: 5 crowns - in cash Boat May June Raft 5 7 Tug 9 8 ${PROSE} ${PROSE}`,
    lines: ['- in cash', 'Raft 5 7'],
  },
  // A line does not show which of its cells is empty.
  {
    file: 'empty-cells.pdf',
    content: () =>
      makePdf([
        [
          'Fees of the quay in crowns.',
          cells('Goods', 'March', 'April', 'May'),
          cells('Rope', '5', '', '7'),
          cells('Sail', '', '3', ''),
          cells('Tar', '11', '12', '13'),
          cells('Buoys'),
          cells('Red', '', '', '4'),
          'The fees are paid at noon.',
        ],
      ]),
    says: 'Fees of the quay in crowns. Goods March April May Goods: Rope; March: 5; May: 7 Goods: Sail; April: 3 Goods: Tar; March: 11; April: 12; May: 13 Buoys Goods: Red; May: 4 The fees are paid at noon.',
    lines: ['Goods: Rope; March: 5; May: 7', 'Goods: Sail; April: 3'],
  },
  {
    file: 'years.pdf',
    content: () =>
      makePdf([
        [
          amounts('', '2022', '2023', '2024'),
          amounts('Rent', '5', '', '700'),
          amounts('Fees', '1100', '12', '13'),
          amounts('Tar', '', '9'),
        ],
      ]),
    lines: ['Rent; 2022: 5; 2024: 700', 'Fees; 2022: 1100; 2023: 12; 2024: 13', 'Tar; 2023: 9'],
  },
  // As word processors and browsers print them: all lines of a cell, then the next cell, whose text may be centred.
  {
    file: 'wrapped-cells.pdf',
    content: () =>
      makePdfOf({
        content: [
          ...[
            [50, 700, 'Goods'],
            [200, 700, 'March'],
            [300, 700, 'April'],
            [50, 674, 'Rope of the'],
            [50, 660, 'northern mole'],
            [200, 674, '5'],
          ],
          ...[
            [300, 674, '6'],
            [50, 634, 'Sail of the'],
            [50, 620, 'old ship'],
            [300, 627, '7'],
            [50, 594, 'Tar'],
            [200, 594, '8'],
            [300, 594, '9'],
          ],
        ]
          .map(([left, base, text]) => `BT /F1 12 Tf ${left} ${base} Td (${text}) Tj ET`)
          .join('\n'),
      }),
    says: 'Goods March April Goods: Rope of the northern mole; March: 5; April: 6 Goods: Sail of the old ship; April: 7 Goods: Tar; March: 8; April: 9',
  },
  // Full rows, and rows without names above them, are read as they are printed.
  {
    file: 'full-rows.pdf',
    content: () => makePdf([[cells('Goods', 'March', 'April'), cells('Rope', '5', '7'), cells('Sail', '3', '4')]]),
    lines: ['Goods March April', 'Rope 5 7', 'Sail 3 4'],
  },
  {
    file: 'nameless-rows.pdf',
    content: () => makePdf([[cells('Rope', '5', '7'), cells('Sail', '', '4'), cells('Tar', '1', '2')]]),
    lines: ['Rope 5 7', 'Sail; ; 4', 'Tar 1 2'],
  },
  // A value stays in its column, where cells before it are empty: also in narrow columns, aligned to the right, and without names.
  {
    file: 'gaps.pdf',
    content: () =>
      makePdf([
        [
          'Fees of the harbour.',
          placed({ 0: 'Region', 44: 'Q1', 70: 'Q2', 96: 'Q3' }),
          placed({ 0: 'North', 44: '12', 96: '15' }),
          placed({ 0: 'South', 70: '7' }),
          placed({ 0: 'East', 44: '1', 70: '(35)', 96: '4%' }),
          'Then the fees of the two years before, as the office of the harbour has them in its books.',
          placed({ 0: 'Boat', 100: 'Fee 2023', 200: 'Fee 2024' }),
          placed({ 0: 'Raft', 232: '9' }),
          placed({ 0: 'Tug', 118: '900', 214: '1,200' }),
          'And what each of the boats has carried to the quay in the weeks of this summer.',
          placed({ 0: 'Raft', 100: '12', 200: '13' }),
          placed({ 0: 'Tug', 200: '14' }),
          placed({ 100: '15', 200: '16' }),
        ],
        // The table continues with rows whose first number is empty.
        [placed({ 0: 'Barge', 200: '17' }), placed({ 0: 'Ferry', 200: '18' }), placed({ 0: 'Raft', 100: '19', 200: '20' })],
      ]),
    lines: [
      'Region Q1 Q2 Q3',
      'Region: North; Q1: 12; Q3: 15',
      'Region: South; Q2: 7',
      'Region: East; Q1: 1; Q2: (35); Q3: 4%',
      'Boat: Raft; Fee 2024: 9',
      'Boat: Tug; Fee 2023: 900; Fee 2024: 1,200',
      'Raft 12 13',
      'Tug; ; 14',
      '; 15; 16',
      'Barge; ; 17',
      'Ferry; ; 18',
      'Raft 19 20',
    ],
  },
  // A table continues over pages, with its names printed again or not; a page of two parts a line is none of it.
  {
    file: 'lessons.pdf',
    content: () =>
      makePdf([
        ['Lessons of May.', placed({ 0: 'Time', 60: 'Mon', 120: 'Tue', 180: 'Wed' }), placed({ 0: '09:00', 60: 'Maths', 180: 'Art' })],
        [placed({ 0: '10:00', 120: 'Sport', 180: 'Art' }), placed({ 0: '11:00', 120: 'Dance' })],
        [placed({ 0: 'Time', 60: 'Mon', 120: 'Tue', 180: 'Wed' }), placed({ 0: '12:00', 60: 'Music' })],
        [placed({ 0: 'Letter 7', 120: '5 May' }), PROSE],
      ]),
    says: `Lessons of May. Time Mon Tue Wed Time: 09:00; Mon: Maths; Wed: Art Time: 10:00; Tue: Sport; Wed: Art Time: 11:00; Tue: Dance Time Mon Tue Wed Time: 12:00; Mon: Music Letter 7 5 May ${PROSE}`,
  },
  // A number that begins a line within a sentence is no item.
  {
    file: 'ranges.pdf',
    content: () =>
      makePdf([
        [
          'The form is explained on pages 10-',
          '12. The rest is in the annex.',
          'Buy these:',
          '1. Rope',
          '2. Net, see pages 3-',
          '4. It is red.',
        ],
        [`${PROSE}. He came in the year`, '112. Then he left the quay and the harbour, and looked after no lamp any more at all.'],
      ]),
    has: ['on pages 10-12. The rest', 'in the year 112. Then he left'],
    lines: ['1. Rope', '2. Net, see pages 3-4. It is red.'],
  },
  // Units have no first power, and currencies and shares none: a raised digit there is a note's.
  {
    file: 'units.pdf',
    content: () =>
      makePdf([
        [
          [{ text: 'It is 5 km' }, raised('1'), { text: ' long, 6 km' }, raised('2'), { text: ' wide' }],
          [{ text: 'and costs 20 EUR' }, raised('2'), { text: ' or 7%' }, raised('3'), { text: ' of 2 cm' }, raised('4')],
        ],
      ]),
    says: 'It is 5 km[1] long, 6 km^2 wide and costs 20 EUR[2] or 7%[3] of 2 cm^4',
  },
  {
    file: 'notes.pdf',
    content: () =>
      makePdf([
        ['# Quay', 'The quay has six berths.'],
        ['# Mole', 'The mole has a lamp.'],
      ]),
    says: '[Quay] The quay has six berths. [Mole] The mole has a lamp.',
    title: 'notes',
    pages: { berths: 1, lamp: 2 },
  },
  // Footnotes interrupt no paragraph that goes on to the next page; small print without a raised mark stays where it is.
  {
    file: 'footnotes.pdf',
    content: () =>
      makePdf([
        [
          'Boats wait at the mole until the lamp is lit.',
          [{ text: 'The watch lights it at dusk' }, raised('3')],
          'when the wind is low and',
          [{ text: '3', size: 5, rise: 4 }, small('At noon in winter, when the light')],
          [small('is low all day.')],
          [{ text: '4', size: 5, rise: 4 }, small('Or by hand.')],
        ],
        ['the sea is calm.', 'Then they leave.', [small('30 days net.')]],
      ]),
    says: 'Boats wait at the mole until the lamp is lit. The watch lights it at dusk[3] when the wind is low and the sea is calm. Then they leave. 30 days net. [3] At noon in winter, when the light is low all day. [4] Or by hand.',
    pages: { 'At noon': 1 },
  },
  {
    file: 'contents.pdf',
    content: () => makePdf([['Rules', 'Contents', ...ENTRIES], ['Boats wait at the mole.', ...ENTRIES.slice(0, 4)], ['They wait long.']]),
    has: ['Rules Contents', 'Boats wait', 'Part 4 of the rules ... 1', 'They wait long.'],
    lacks: ['Part 5', 'Part 12'],
    warnings: [/^Not read: tables of contents and indexes \(pages 1\)\.$/],
  },
  // A part that the page is composed of is no part of the line before it.
  {
    file: 'composed.pdf',
    content: () =>
      makePdfOf({
        content: 'BT /F1 12 Tf 50 700 Td (Before) Tj ET /X1 Do BT /F1 12 Tf 50 600 Td (After) Tj ET /X2 Do',
        page: '/Resources << /Font << /F1 3 0 R >> /XObject << /X1 10 0 R /X2 11 0 R >> >>',
        objects: ['50 650 Td (Inside)', '150 600 Td (beside)'].map((part) => {
          const shown = `BT /F1 12 Tf ${part} Tj ET`
          return `<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /Font << /F1 3 0 R >> >> /Length ${shown.length} >>\nstream\n${shown}\nendstream`
        }),
      }),
    says: 'Before Inside After beside',
  },
  // Letters by an encoding that only a file of the reader's own would explain.
  {
    file: 'encoded.pdf',
    content: () =>
      makePdfOf({
        content: 'BT /F1 12 Tf 50 700 Td (Price list) Tj ET BT /F2 12 Tf 50 680 Td <8d60> Tj ET',
        font: '<< /Type /Font /Subtype /Type0 /BaseFont /MS-Mincho /Encoding /90ms-RKSJ-H /DescendantFonts [10 0 R] >>',
        objects: [
          '<< /Type /Font /Subtype /CIDFontType2 /BaseFont /MS-Mincho /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> /FontDescriptor 11 0 R >>',
          '<< /Type /FontDescriptor /FontName /MS-Mincho /Flags 6 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>',
        ],
      }),
    says: 'Price list',
    warnings: [/^Text in fonts of the encodings 90ms-RKSJ-H is missing/],
  },
  // Amounts that pages of the file could have, in no order.
  {
    file: 'stock.pdf',
    content: () => makePdf([STOCK.map((goods, i) => `${goods} . . . . . . . . ${1 + ((i * 7) % 4)}`), ['Two.'], ['Three.'], ['Four.']]),
    has: STOCK.map((goods, i) => `${goods} ... ${1 + ((i * 7) % 4)}`),
    warnings: [],
  },
  // Names in order with numbers that are no pages before them: a menu, and the rooms of a list.
  ...['menu', 'rooms'].map((name) => ({
    file: `${name}.pdf`,
    content: () =>
      makePdf([
        [...STOCK, ...STOCK.map((goods) => `${goods}s`)]
          .toSorted()
          .map((goods, i) => goods + (name === 'menu' ? ` . . . . . . . ${4 - (i % 3)}` : `, ${i + 1}`)),
        ...Array.from({ length: 40 }, () => ['They wait.']),
      ]),
    has: name === 'menu' ? ['Anchor ... 4', 'Anchors ... 3', 'Bell ... 2'] : ['Anchor, 1', 'Anchors, 2', 'Bell, 3'],
    warnings: [],
  })),
  {
    file: 'index.pdf',
    content: () =>
      makePdf([['Boats wait.'], ['They wait long.'], [...STOCK].sort().map((goods, i) => `${goods} . . . . . . ${1 + (i % 2)}`)]),
    says: 'Boats wait. They wait long.',
    warnings: [/^Not read: tables of contents and indexes \(pages 3\)\.$/],
  },
  // Layout programs map a full stop to a space and it, or to a space alone, and say what it is apart from it.
  ...['0020002E', '0020'].map((stop) => ({
    file: 'full-stops.pdf',
    content: () => {
      const letters = Array.from({ length: 94 }, (_, i) => (i + 33).toString(16).toUpperCase())
      const entries = ['<20> <0020>', ...letters.map((code) => `<${code}> <${code === '2E' ? stop : `00${code}`}>`)]
      const map = `/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n1 begincodespacerange\n<00> <FF>\nendcodespacerange\n${entries.length} beginbfchar\n${entries.join('\n')}\nendbfchar\nendcmap\nCMapName currentdict /CMap defineresource pop\nend\nend`
      const packed = deflateSync(map).toString('latin1')
      return makePdfOf({
        content: linesOf([
          '(The sum is 467) Tj /Span << /ActualText <FEFF002E> >> BDC (.) Tj EMC (9 crowns.)',
          '(It was 1,396.4 before. Two more.)',
        ]),
        font: '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding /ToUnicode 10 0 R >>',
        objects: [`<< /Filter /FlateDecode /Length ${packed.length} >>\nstream\n${packed}\nendstream`],
      })
    },
    says: 'The sum is 467.9 crowns. It was 1,396.4 before. Two more.',
  })),
  // A space by the code of another letter, as in fonts with few of them.
  {
    file: 'few-letters.pdf',
    content: () => {
      const packed = deflateSync(
        'begincmap\n1 begincodespacerange\n<00> <FF>\nendcodespacerange\n4 beginbfchar\n<21> <0020>\n<22> <004F>\n<23> <0061>\n<24> <0072>\nendbfchar\nendcmap',
      ).toString('latin1')
      return makePdfOf({
        content: linesOf(['<222324212422>']),
        font: '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding /ToUnicode 10 0 R >>',
        objects: [`<< /Filter /FlateDecode /Length ${packed.length} >>\nstream\n${packed}\nendstream`],
      })
    },
    says: 'Oar rO',
  },
  // Names in order with amounts whose decimals have a comma are no index, and rows that end at one place no text.
  {
    file: 'donors.pdf',
    content: () =>
      makePdf([
        ['The watch thanks them all.'],
        ...[0, 1].map(() =>
          [...STOCK, ...STOCK.map((name) => `Ze${name}`)].toSorted().map((name, i) => amounts(name, `${i + 10}/10`, '5.000,00', '2,00')),
        ),
      ]),
    has: ['Anchor 10/10 5.000,00 2,00\nBell 11/10 5.000,00 2,00\nBuoy 12/10 5.000,00 2,00'],
    warnings: [],
  },
  {
    file: 'menu.pdf',
    content: () => makePdf([STOCK.toSorted().map((name) => `${name} . . . . . . . . 3,50`), ['Two.'], ['Three.']]),
    has: STOCK.toSorted().map((name) => `${name} ... 3,50`),
    warnings: [],
  },
  {
    file: 'prices.pdf',
    content: () => makePdf([Array.from({ length: 12 }, (_, i) => `Soup ${i + 1} . . . . . . . . ${i + 3}0`)]),
    has: ['Soup 1 ... 30', 'Soup 12 ... 140'],
    warnings: [],
  },
  // Lines at the edges that differ in numbers are what the pages are about, also where the numbers rise by one.
  ...[(i: number) => `${1017 + 10 * i}`, (i: number) => `${1017 + i}`, (i: number) => `${i + 1}`].map((number, i) => ({
    file: `bills-${i}.pdf`,
    content: () => makePdf(billed(number).map((bill) => bill.split('\n'))),
    says: billed(number).join('\n'),
  })),
  {
    file: 'days.pdf',
    content: () =>
      pages((page) => [`${page}.05.2025`, `${page}.50`, `Boats come and go on day ${page}.`, `Low water at ${page} noon`, `Sum: ${page}`]),
    says: [1, 2, 3, 4]
      .map((page) => `${page}.05.2025 ${page}.50 Boats come and go on day ${page}. Low water at ${page} noon Sum: ${page}`)
      .join(' '),
  },
  // Equal lines and numbers of pages are left out, and nothing else.
  {
    file: 'heads.pdf',
    // They are separated from the text, or hold no number and no sentence.
    content: () => pages((page) => ['Harbour rules', `Rule ${page} says that boats wait.`, 'They wait long.', `page ${page} of 4`]),
    says: [1, 2, 3, 4].map((page) => `Rule ${page} says that boats wait. They wait long.`).join(' '),
    lacks: ['Harbour rules', 'page 1'],
    warnings: [/^8 lines are left out as running heads: "Harbour rules", "page 1 of 4"/],
  },
  {
    file: 'counted.pdf',
    content: () => pages((page) => [`Harbour rules ${page} / 4`, `Rule ${page} says that boats wait.`, `Bill ${page} / 2025`]),
    says: [1, 2, 3, 4].map((page) => `Rule ${page} says that boats wait. Bill ${page} / 2025`).join(' '),
    lacks: ['Harbour rules'],
  },
  ...[
    (page: number) => `${page + 6}`,
    (page: number) => `- ${page} -`,
    (page: number) => `Seite ${page} von 4`,
    (page: number) => `${page}/4`,
    (page: number) => `Harbour rules | ${page}`,
    (page: number): PdfLine => [{ text: 'Harbour rules' }, { text: `${page}`, at: 300 }],
    (page: number): PdfLine => [{ text: 'Harbour rules' }, { text: `Page ${page} of 4`, at: 300 }],
    (page: number) => `Harbour rules - May | Seite ${page}`,
    (page: number) => ['iii', 'iv', 'v', 'vi'][page - 1] ?? '',
  ].map((foot, i) => ({
    file: `foot-${i}.pdf`,
    content: () => pages((page) => [`Rule ${page} says that boats wait.`, 'They wait long.', foot(page)]),
    says: [1, 2, 3, 4].map((page) => `Rule ${page} says that boats wait. They wait long.`).join(' '),
  })),
  {
    file: 'same-end.pdf',
    content: () => pages((page) => [`Ship ${page} lies at the quay.`, 'She came from the north.', 'Dues: 150 crowns']),
    says: [1, 2, 3, 4].map((page) => `Ship ${page} lies at the quay. She came from the north. Dues: 150 crowns`).join(' '),
  },
  {
    file: 'imprint.pdf',
    content: () =>
      pages((page) => ['Tide tables 2025', '', '', `On page ${page} tides are high.`, 'Boats stay in.', '', '', '(c) 2025 The harbour.']),
    says: [1, 2, 3, 4].map((page) => `On page ${page} tides are high. Boats stay in.`).join(' '),
  },
  // Heads of left and right pages and of chapters; the head of a table is none.
  {
    file: 'book.pdf',
    content: () =>
      pages(
        (page) => [
          page % 2 === 0 ? `${page} | The harbour book` : `${page < 7 ? 'Of ships' : 'Of lamps'} | ${page}`,
          ...['', '', `Leaf ${page} tells of boats.`, 'It is read aloud.'],
        ],
        12,
      ),
    says: Array.from({ length: 12 }, (_, i) => `Leaf ${i + 1} tells of boats. It is read aloud.`).join(' '),
  },
  {
    file: 'price-list.pdf',
    content: () =>
      pages((page) => [
        [{ text: 'Ware' }, { text: 'Price', at: 200 }],
        [{ text: `Rope ${page}0 m` }, { text: `${page}5`, at: 200 }],
        'End of page',
      ]),
    lines: ['Ware Price', 'Rope 10 m 15', 'Rope 40 m 45'],
  },
  // A word that is written with a hyphen elsewhere keeps it.
  {
    file: 'compound.pdf',
    content: () => makePdf([[`${PROSE} of the well-`, 'known harbour at the har-', 'bour. It is well-known to all.']]),
    has: ['the well-known harbour at the harbour.'],
  },
  // Cells in the middle of others of two lines, between their lines.
  {
    file: 'middle.pdf',
    content: () =>
      makePdfOf({
        content: printedAt(
          [50, 690, 'Day'],
          [120, 696, 'Value'],
          [120, 684, 'day'],
          [200, 690, 'Reason'],
          [420, 690, 'Debit'],
          [490, 690, 'Balance'],
          [50, 666, '1 May'],
          [120, 666, '2 May'],
          [200, 666, 'Opening'],
          [490, 666, '50.00'],
          [50, 642, '4 May'],
          [120, 642, '5 May'],
          [200, 648, 'Oil for the lamps of the'],
          [200, 636, 'old mole'],
          [420, 642, '7.50'],
          [490, 642, '42.50'],
        ),
      }),
    lines: [
      'Day: 1 May; Value day: 2 May; Reason: Opening; Balance: 50.00',
      'Day: 4 May; Value day: 5 May; Reason: Oil for the lamps of the old mole; Debit: 7.50; Balance: 42.50',
    ],
  },
  {
    file: 'two-lines.pdf',
    content: () =>
      makePdfOf({
        content: printedAt(
          [50, 700, 'No'],
          [100, 700, 'Goods'],
          [300, 700, 'Each'],
          [400, 700, 'Sum'],
          [50, 676, '1'],
          [100, 676, 'Oil for the lamps'],
          [100, 662, 'of the old mole'],
          [300, 662, '7.50'],
          [400, 662, '15.00'],
          [50, 638, '2'],
          [100, 638, 'Rope'],
          [300, 638, '9.00'],
          [400, 638, '9.00'],
        ),
      }),
    lines: ['No: 1; Goods: Oil for the lamps of the old mole; Each: 7.50; Sum: 15.00', 'No: 2; Goods: Rope; Each: 9.00; Sum: 9.00'],
  },
  // A sum below a column whose other values begin and end elsewhere than its name, in a table whose rows all have empty cells.
  {
    file: 'centred-names.pdf',
    content: () =>
      makePdfOf({
        content: printedAt(
          ...inRow(700, { 80: 'Day', 170: 'Goods', 300: 'Out', 400: 'In', 480: 'Left' }),
          ...inRow(676, { 50: '2025-05-01', 160: 'Opening', 480: '50.00' }),
          ...inRow(652, { 50: '2025-05-02', 160: 'Lamp oil', 300: '7.50', 480: '42.50' }),
          ...inRow(628, { 50: '2025-05-04', 160: 'Dues', 400: '9.00', 480: '51.50' }),
          ...inRow(604, { 50: 'Sum', 300: '7.50', 400: '9.00', 480: '51.50' }),
        ),
      }),
    lines: ['Day: 2025-05-02; Goods: Lamp oil; Out: 7.50; Left: 42.50', 'Day: Sum; Out: 7.50; In: 9.00; Left: 51.50'],
  },
  // The further columns of a sheet, on the next page.
  {
    file: 'wide-sheet.pdf',
    content: () =>
      pages(
        (page) =>
          page === 1
            ? [
                placed({ 0: 'Boat', 90: 'May', 180: 'June' }),
                placed({ 0: 'Raft', 90: '1.50' }),
                placed({ 0: 'Tug', 90: '2.50', 180: '3.00' }),
                placed({ 0: 'Yacht', 90: '-', 180: '4.00' }),
              ]
            : [placed({ 0: 'By', 90: 'Paid', 180: 'Note' }), placed({ 0: 'Ann', 90: 'yes', 180: 'late' })],
        2,
      ),
    lines: ['Boat: Raft; May: 1.50', 'Boat: Yacht; May: -; June: 4.00', 'By Paid Note', 'Ann yes late'],
  },
  // Cells of two columns that are printed as one, below names on the other side of their columns.
  {
    file: 'joined-cells.pdf',
    content: () =>
      makePdfOf({
        content: printedAt(
          ...inRow(700, { 50: 'Out', 150: 'Day', 320: 'Left' }),
          ...inRow(684, { 90: '5,423.88 2025-05-12', 320: '93.48' }),
          ...inRow(668, { 90: '3,254.67', 320: '90.81' }),
          ...inRow(652, { 90: '7,555.88 2025-05-10', 320: '85.03' }),
        ),
      }),
    lacks: ['Day: 3,254.67'],
  },
  // Columns half a letter's height apart.
  {
    file: 'close-columns.pdf',
    content: () =>
      makePdfOf({
        font: BOLD,
        content: [
          printedAt(...inRow(700, { 50: 'Goods', 150: 'Out', 220: 'In', 290: 'Left' })),
          printedAt([50, 680, 'Oil'], [150, 680, '7,507.50']).replaceAll('12 Tf', '10 Tf'),
          printedAt([194, 680, '9,219.00']).replaceAll('/F1 12 Tf', '/F2 10 Tf'),
          printedAt([290, 680, '51.50']).replaceAll('12 Tf', '10 Tf'),
          printedAt([50, 660, 'Tar'], [150, 660, '1,200.00'], [290, 660, '8.50']).replaceAll('12 Tf', '10 Tf'),
        ].join('\n'),
      }),
    lines: ['Goods: Oil; Out: 7,507.50; In: 9,219.00; Left: 51.50', 'Goods: Tar; Out: 1,200.00; Left: 8.50'],
  },
  // A listing keeps its lines, in a font whose letters are all as wide; an item, and a line within a sentence, in it are none.
  {
    file: 'listing.pdf',
    content: () =>
      makePdfOf({
        font: BOLD.replace('Helvetica-Bold', 'Courier'),
        content: [
          printedAt([50, 700, 'The watch counts the lamps by this, which the office has made:']),
          printedAt([50, 680, 'def count(lamps):'], [79, 666, 'if not lamps:'], [108, 652, 'return 0'], [79, 624, '# lit']),
          printedAt([79, 610, 'return len(lamps)']),
          printedAt([50, 560, 'It is called as']),
          printedAt([50, 546, 'count(lamps)']),
          printedAt([50, 532, 'each night by the watch of the old mole. These are known to the office:']),
          printedAt([50, 500, '\\225 red'], [50, 486, '\\225 green']),
        ]
          .map((part, i) => ([1, 2, 4, 6].includes(i) ? part.replaceAll('/F1', '/F2') : part))
          .join('\n'),
      }),
    has: [
      'made:\ndef count(lamps):\n    if not lamps:\n        return 0\n\n    # lit\n    return len(lamps)\nIt is called as count(lamps) each night',
      '- red\n- green',
    ],
  },
  // A paragraph, and a word, that continue in the next column.
  {
    file: 'next-column.pdf',
    content: () =>
      makePdfOf({
        content: printedAt(
          [50, 300, 'The watch looks after the lamp'],
          [50, 286, 'of the old mole and of the har-'],
          [300, 700, 'bour from dusk until dawn. It'],
          [300, 686, 'notes each ship.'],
        ),
      }),
    has: ['The watch looks after the lamp of the old mole and of the harbour from dusk until dawn. It notes each ship.'],
  },
  // Names of two lines that each page repeats, of which the first has fewer cells than a row.
  {
    file: 'names-of-two-lines.pdf',
    content: () =>
      pages(
        (page) => [
          placed({ 0: 'Day', 90: 'Goods', 220: 'Money' }),
          placed({ 220: 'out', 320: 'Left', 420: 'By' }),
          '',
          placed({ 0: `${page} May`, 90: 'Rope', 320: '35.50', 420: 'Bo' }),
          '',
          placed({ 0: `${page} June`, 90: 'Lamp oil', 220: `${page}.50`, 320: '42.50', 420: 'Ann' }),
        ],
        2,
      ),
    lines: [1, 2].flatMap((page) => [
      `Day: ${page} May; Goods: Rope; Left: 35.50; By: Bo`,
      `Day: ${page} June; Goods: Lamp oil; Money out: ${page}.50; Left: 42.50; By: Ann`,
    ]),
  },
  // Items whose numbers have no marks, below a colon; other numbers begin lines too.
  {
    file: 'bare-numbers.pdf',
    content: () =>
      makePdf([
        [
          'Before the lamp of the old mole is lit for the first time, the watch has to do this:',
          '1 Wipe the glass of the lamp of the old mole, and do so with a soft cloth until it is',
          'dry',
          '2 Fill the lamp',
          '',
          'It needs',
          '3 Men to do so',
        ],
      ]),
    lines: [
      'Before the lamp of the old mole is lit for the first time, the watch has to do this:',
      '1 Wipe the glass of the lamp of the old mole, and do so with a soft cloth until it is dry',
      '2 Fill the lamp',
    ],
  },
  // The page of a passage is that of its first character.
  {
    file: 'long-paragraph.pdf',
    content: () => pages(sentences, 5),
    says: [1, 2, 3, 4, 5].flatMap(sentences).join(' '),
    pagesBy: ({ text }) => Math.floor(Number(/\d{3}/.exec(text)?.[0]) / 100),
  },
  {
    file: 'long-list.pdf',
    content: () =>
      pages(
        (page) => [
          ...(page === 1 ? ['Mind these lamps:'] : []),
          ...Array.from({ length: 30 }, (_, i) => `- lamp ${100 * page + i} on the wall of the old mole`),
        ],
        4,
      ),
    pagesBy: ({ text }) => Math.floor(Number(/\d{3}/.exec(text)?.[0]) / 100),
  },
  {
    file: 'long-table.pdf',
    content: () =>
      pages((page) => Array.from({ length: 30 }, (_, i) => [{ text: `Lamp ${100 * page + i}` }, { text: 'red and white', at: 200 }]), 4),
    lines: ['Lamp 100 red and white', 'Lamp 429 red and white'],
    pagesBy: ({ text }) => Math.floor(Number(/\d{3}/.exec(text)?.[0]) / 100),
  },
  {
    file: 'divided.pdf',
    content: () => makePdf([[`${PROSE}.`, 'The ferry crosses the har-'], ['bour at noon and comes back to the quay in the evening.']]),
    has: ['The ferry crosses the harbour at noon'],
    pages: { watch: 1 },
  },
  // A larger sign in a line, or a large first letter, makes no heading.
  {
    file: 'sign.pdf',
    content: () =>
      makePdf([
        [`${PROSE}.`, [{ text: 'The sign ' }, { text: 'S', size: 14 }, { text: ' means that a ship goes astern.' }], 'All ships know it.'],
      ]),
    says: `${PROSE}. The sign S means that a ship goes astern. All ships know it.`,
    headings: { astern: '', know: '' },
  },
  {
    file: 'initial.pdf',
    content: () =>
      makePdf([[[{ text: 'W', size: 30 }], `hen the lamp is out the watch rings the bell and goes down`, `to the quay. ${PROSE}.`]]),
    says: `When the lamp is out the watch rings the bell and goes down to the quay. ${PROSE}.`,
    headings: { watch: '' },
  },
  // Superscripts are no digits of the number before them; marks of notes no part of the word.
  {
    file: 'powers.pdf',
    content: () =>
      makePdf([
        [
          [
            { text: 'It is 10' },
            raised('6'),
            { text: ' km away, the 2' },
            raised('nd'),
            { text: ' of its kind,' },
            raised('3'),
            { text: ' and 5 m' },
            raised('2'),
            { text: ' wide.' },
          ],
          [{ text: 'H' }, { text: '2', size: 6, rise: -2 }, { text: 'O freezes in a winter' }, raised('1'), { text: ' that is cold.' }],
        ],
      ]),
    says: 'It is 10^6 km away, the 2nd of its kind,[3] and 5 m^2 wide. H2O freezes in a winter[1] that is cold.',
  },
  // Entries of a table of contents are lines; its dots say nothing.
  {
    file: 'contents.pdf',
    content: () => makePdf([[`Moorings ${'.'.repeat(60)} 7`, `Lamps and bells ${'. '.repeat(40)}12`, `Ice \u00b7${'.'.repeat(30)} 15`]]),
    lines: ['Moorings ... 7', 'Lamps and bells ... 12'],
  },
  // Bold type by printing twice, exponents in pieces, ligatures at codes of fonts of TeX.
  {
    file: 'printed.pdf',
    content: () =>
      makePdf([
        [
          [
            { text: 'Harbour rules', size: 16 },
            { text: 'Harbour rules', size: 16, at: 0.4 },
            { text: 'Harbour rules', size: 16, at: 0.8 },
          ],
          'The lamp is lit.',
          [
            { text: 'Bar bar bar is' },
            { text: ' sin' },
            raised('-'),
            raised('1'),
            { text: '(x) and 10' },
            raised('2'),
            raised('n'),
            { text: '.' },
          ],
          'We a\u001bord a con\u001crmed in\u001duence and the o\u000ece 12\u001524 times.',
        ],
      ]),
    title: 'Harbour rules',
    says: 'The lamp is lit. Bar bar bar is sin^-1(x) and 10^(2n). We afford a confirmed influence and the office 12\u201324 times.',
  },
  // The last column of a row goes on in lines that begin where it does.
  {
    file: 'options.pdf',
    content: () =>
      makePdf([
        [
          'The lamp takes these options:',
          [{ text: '-n' }, { text: 'Shows no objects such as buoys which may overlay the', at: 60 }],
          [{ text: 'chart. This is the default.', at: 60 }],
          [{ text: '-r' }, { text: 'Sets the range.', at: 60 }],
          'The watch sets them at dusk.',
        ],
      ]),
    has: ['-n Shows no objects such as buoys which may overlay the chart. This is the default.\n', '-r Sets the range.', 'The watch sets'],
  },
  {
    file: 'index.pdf',
    content: () =>
      pages(
        (page) =>
          page < 25
            ? [`Rule ${page} says that boats wait at the mole.`]
            : ['Index', ...STOCK.toSorted().flatMap((name) => [`${name}, 3`, `${name} of oak, 4, 7-9`])],
        25,
      ),
    has: ['Rule 24 says'],
    lacks: ['Anchor', 'of oak'],
    warnings: [/^Not read: tables of contents and indexes \(pages 25\)\.$/],
  },
  // Words of a cover are above nothing but its title.
  {
    file: 'cover.pdf',
    content: () =>
      makePdf([
        [[{ text: 'Port of Berg', size: 24 }], [{ text: 'The watch', size: 20 }], [{ text: 'Edition two', size: 18 }]],
        [
          [{ text: 'Lamps', size: 16 }],
          'The lamp is lit at dusk by the watch.',
          [{ text: 'Oil', size: 13 }],
          'Rape oil is used in winter.',
        ],
        [[{ text: 'Bells', size: 16 }], 'The bell rings in fog, twice a minute.'],
      ]),
    title: 'Port of Berg',
    headings: { 'is lit': 'Lamps', Rape: 'Lamps > Oil', rings: 'Bells' },
  },
  // Numbers of pages with their total, after a cover and contents without numbers; a number of bills is none.
  {
    file: 'numbered.pdf',
    content: () =>
      pages(
        (page) => [`Rule ${page} says that boats wait.`, `Bill ${page} / 90`, ...(page < 3 ? [] : [`Harbour rules ${page - 2} / 6`])],
        8,
      ),
    has: ['Rule 1 says', 'Bill 1 / 90', 'Rule 8 says', 'Bill 8 / 90'],
    lacks: ['Harbour rules'],
    warnings: [/^6 lines are left out as running heads: "Harbour rules 1 \/ 6", "Harbour rules 2 \/ 6", "Harbour rules 3 \/ 6", \.\.\.\.$/],
  },
  {
    file: 'half-scanned.pdf',
    content: () => makePdf([[`${PROSE}.`], null, null]),
    says: `${PROSE}.`,
    warnings: [/^2 of 3 pages have no text, and may be scanned \(2, 3\): set CEPE_OCR/],
  },
  // Pages with numbers alone: all of them, and some.
  {
    file: 'only-numbers.pdf',
    content: () => makePdf([['1'], ['2'], ['3'], ['4']]),
    says: '1 2 3 4',
    warnings: [],
  },
  {
    file: 'some-numbers.pdf',
    content: () => makePdf([[`${PROSE}.`, '1'], ['2'], ['3']]),
    says: `${PROSE}.`,
    warnings: [
      /^3 lines are left out as running heads: "1", "2", "3"\.$/,
      /^2 pages have running heads alone, and may be scanned \(2, 3\)\.$/,
    ],
  },
  // Forms show the values of their fields beside the labels.
  {
    file: 'form.pdf',
    content: () =>
      makePdfOf({
        content:
          'BT /F1 12 Tf 50 700 Td (Name:) Tj ET BT /F1 12 Tf 250 700 Td (of the Mole) Tj ET BT /F1 12 Tf 80 660 Td (by card) Tj ET BT /F1 12 Tf 50 560 Td (End.) Tj ET',
        page: '/Annots [10 0 R 11 0 R 12 0 R 13 0 R 14 0 R 15 0 R]',
        catalog: '/AcroForm << /Fields [10 0 R 11 0 R 12 0 R] >>',
        objects: [
          widget('/FT /Tx /T (name) /V (Ann Berg)', 100, 697),
          widget('/FT /Btn /T (card) /V /Yes /AS /Yes /AP << /N << /Yes 16 0 R /Off 16 0 R >> >>', 50, 657).replace('150 671', '62 671'),
          widget('/FT /Ch /Ff 131072 /T (city) /V (o) /Opt [[(o) (Oslo)] [(b) (Bergen)]]', 50, 610),
          '<< /Type /Annot /Subtype /FreeText /F 4 /Contents (Typed on it.) /DA (/F1 12 Tf) /Rect [50 580 200 594] >>',
          '<< /Type /Annot /Subtype /Text /F 4 /Contents (A remark) /Rect [50 700 90 712] >>',
          widget('/FT /Tx /T (hidden) /V (secret)', 50, 500).replace('/F 4', '/F 2'),
          '<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length 0 >>\nstream\n\nendstream',
        ],
      }),
    says: 'Name: Ann Berg of the Mole [x] by card Oslo Typed on it. End.',
    lacks: ['secret'],
    warnings: [/^Not read: comments \(1\)\.$/, /^Not read: options that are not chosen \(1\)\.$/],
  },
  // A list shows all of its options, a closed one the chosen.
  {
    file: 'options.pdf',
    content: () =>
      makePdfOf({
        content: printedAt([50, 700, 'Goods:'], [50, 660, 'Port:'], [50, 620, 'Ship:']),
        page: '/Annots [10 0 R 11 0 R 12 0 R]',
        catalog: '/AcroForm << /Fields [10 0 R 11 0 R 12 0 R] >>',
        objects: [
          widget('/FT /Ch /T (goods) /V [(t) (o)] /Opt [[(r) (Rope)] [(t) (Tar)] [(o) (Oil)]]', 100, 697),
          widget('/FT /Ch /Ff 131072 /T (port) /V (Moss) /Opt [( ) (Oslo) (Moss) (Bergen)]', 100, 657),
          widget('/FT /Ch /T (ship) /Opt [(Raft) (Tug)]', 100, 617),
        ],
      }),
    says: 'Goods: [ ] Rope, [x] Tar, [x] Oil Port: Moss Ship: [ ] Raft, [ ] Tug',
    warnings: [/^Not read: options that are not chosen \(2\)\.$/],
  },
  {
    file: 'attached.pdf',
    content: () =>
      makePdfOf({
        content: 'BT /F1 12 Tf 50 700 Td (See the file.) Tj ET',
        catalog: '/Names << /EmbeddedFiles << /Names [(fees.csv) 10 0 R] >> >>',
        objects: ['<< /Type /Filespec /F (fees.csv) /EF << /F 11 0 R >> >>', '<< /Type /EmbeddedFile /Length 3 >>\nstream\na,b\nendstream'],
      }),
    says: 'See the file.',
    warnings: [/^Attachments were not read: fees\.csv\.$/],
  },
  // Words, numbers and names that are divided at a hyphen.
  {
    file: 'divided.pdf',
    content: () =>
      makePdfOf({
        content: linesOf(['(They con\\001)', '(sidered pre-)', '(and postwar ships, from 2019-)', '(2020, near Baden-)', '(Baden.)']),
        font: namedLetters('1 /uni2010'),
      }),
    says: 'They considered pre- and postwar ships, from 2019-2020, near Baden-Baden.',
  },
  // Accents and ligatures as letters of their own.
  {
    file: 'accents.pdf',
    content: () =>
      makePdfOf({
        content: linesOf(['[(caf)-1(\\001)500(e in K)-28(\\002)528(oln, tr)(\\003)480(es gar\\004)444(con)]']).replace('Tj', 'TJ'),
        font: namedLetters('1 /acute /dieresis /grave /cedilla'),
      }),
    says: 'caf\u00e9 in K\u00f6ln, tr\u00e8s gar\u00e7on',
  },
  {
    file: 'scripts.pdf',
    content: () =>
      makePdf([
        [
          [
            { text: 'Here log' },
            { text: '2', size: 6, rise: -2 },
            { text: '8 is 3, and x' },
            raised('2'),
            { text: '9 is 9x' },
            raised('2'),
            { text: '.' },
          ],
        ],
      ]),
    says: 'Here log2 8 is 3, and x^2 9 is 9x^2.',
  },
  // Lines from right to left: their parts are in the order of reading.
  {
    file: 'hebrew.pdf',
    content: () => {
      const [shalom, olam] = ['\u05e9\u05dc\u05d5\u05dd', '\u05e2\u05d5\u05dc\u05dd']
      const part = (text: string, left: number): string => `BT /F2 12 Tf ${left} 700 Td ${codes(text, HEBREW)} Tj ET`
      return makePdfOf({
        content: [part(reversed(olam), 100), 'BT /F1 12 Tf 145 700 Td (123) Tj ET', part(reversed(shalom), 180)].join('\n'),
        font: rightToLeft(HEBREW),
      })
    },
    says: '\u05e9\u05dc\u05d5\u05dd 123 \u05e2\u05d5\u05dc\u05dd',
  },
  // Rows from right to left begin where the last column of the row above does: each is a row.
  {
    file: 'rows-from-right.pdf',
    content: () =>
      makePdfOf({
        content: [1, 2, 3]
          .map((row) => {
            const place = (left: number): string => `12 Tf ${left} ${700 - 18 * row} Td`
            return `BT /F1 ${place(100)} (${row}0%) Tj ET BT /F1 ${place(200)} (${row}.50) Tj ET BT /F2 ${place(300)} ${codes(reversed('\u05e9\u05dc\u05d5\u05dd'), HEBREW)} Tj ET`
          })
          .join('\n'),
        font: rightToLeft(HEBREW),
      }),
    lines: ['\u05e9\u05dc\u05d5\u05dd 1.50 10%', '\u05e9\u05dc\u05d5\u05dd 2.50 20%', '\u05e9\u05dc\u05d5\u05dd 3.50 30%'],
  },
  // Letters that are placed one by one: a gap is a space, in either direction.
  {
    file: 'placed.pdf',
    content: () => {
      const shown = reversed('\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd')
      const parts = Array.from(shown, (letter, i) => `BT /F2 12 Tf ${100 + 7 * i} 700 Td ${codes(letter, HEBREW)} Tj ET`)
      const printed = parts.filter((_, i) => shown.charAt(i) !== ' ').reverse()
      return makePdfOf({ content: [...printed, 'BT /F1 12 Tf 180 700 Td (abc) Tj ET'].join('\n'), font: rightToLeft(HEBREW) })
    },
    says: 'abc \u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd',
  },
  // Brackets open where they are read, also around Latin letters, and a full stop follows its number.
  {
    file: 'brackets.pdf',
    content: () => {
      const [shalom, olam] = ['\u05e9\u05dc\u05d5\u05dd', '\u05e2\u05d5\u05dc\u05dd']
      const letters = `${HEBREW}().[]>!`
      const line = (base: number, parts: readonly string[]): string =>
        parts
          .map(
            (text, i) =>
              `BT /F${/[a-z\d]/i.test(text) ? 1 : 2} 12 Tf ${100 + 60 * i} ${base} Td ${/[a-z\d]/i.test(text) ? `(${text.replace(/[()]/g, '\\$&')})` : codes(text, letters)} Tj ET`,
          )
          .join('\n')
      return makePdfOf({
        content: [
          line(700, ['.7', '(', reversed(olam), ')', reversed(shalom)]),
          line(640, [`(${reversed(olam)})`, '(Port)', reversed(shalom)]),
          line(580, ['.', '[', 'Key', ']', '>', reversed(shalom)]),
          line(520, ['See', `(${reversed(shalom)})`, 'here (now).']),
          line(460, ['See', `(${reversed(shalom)}`, 'here']),
          line(400, ['and', `${reversed(olam)})!`, 'there']),
        ].join('\n'),
        font: rightToLeft(letters),
      })
    },
    says: '\u05e9\u05dc\u05d5\u05dd ( \u05e2\u05d5\u05dc\u05dd ) 7. \u05e9\u05dc\u05d5\u05dd (Port) (\u05e2\u05d5\u05dc\u05dd) \u05e9\u05dc\u05d5\u05dd < [ Key ] . See (\u05e9\u05dc\u05d5\u05dd) here (now). See (\u05e9\u05dc\u05d5\u05dd here and \u05e2\u05d5\u05dc\u05dd)! there',
  },
  {
    file: 'arabic.pdf',
    content: () =>
      makePdfOf({
        content: Array.from(reversed(ARABIC), (letter, i) => `BT /F2 12 Tf ${100 + 7 * i} 700 Td ${codes(letter, ARABIC)} Tj ET`).join(
          '\n',
        ),
        font: rightToLeft(ARABIC),
      }),
    says: '\u0645\u0631\u062d\u0628\u0627',
  },
  // Letters that the font does not name are said to be missing; a page on its side has lines too.
  {
    file: 'unknown.pdf',
    content: () => makePdfOf({ content: linesOf(['(The \\001\\002 lamp.)']), font: namedLetters('1 /a1 /a2') }),
    warnings: [/^Characters of fonts without Unicode values are missing \(pages 1\)\.$/],
  },
  {
    file: 'sideways.pdf',
    content: () =>
      makePdfOf({
        content:
          'BT /F1 12 Tf 0 1 -1 0 100 100 Tm (The lamp burns 10 ) Tj /F1 8 Tf (hours) Tj ET BT /F1 12 Tf 0 1 -1 0 114 100 Tm (a night.) Tj ET BT /F1 12 Tf 0 1 -1 0 200 100 Tm (Then it rests.) Tj ET',
        page: '/Rotate 90',
      }),
    says: 'The lamp burns 10 hours a night. Then it rests.',
  },
  // A watermark is no heading; a slanted name of a column is text.
  {
    file: 'watermark.pdf',
    content: () =>
      makePdfOf({
        content:
          'BT /F1 60 Tf 0.7 0.7 -0.7 0.7 150 300 Tm (DRAFT) Tj ET BT /F1 12 Tf 50 700 Td (The lamp burns ten hours a night, then it rests.) Tj ET BT /F1 13 Tf 0.7 0.7 -0.7 0.7 50 640 Tm (Hours) Tj ET',
      }),
    title: 'watermark',
    says: 'The lamp burns ten hours a night, then it rests. Hours',
    warnings: [/^Headers and footers were left out: "DRAFT"\.$/],
  },
  // Text of layers that are not shown is read, and they are named.
  {
    file: 'layers.pdf',
    content: () =>
      makePdfOf({
        content: 'BT /F1 12 Tf 50 700 Td (Six berths.) Tj ET /OC /L1 BDC BT /F1 12 Tf 50 660 Td (Draft of May.) Tj ET EMC',
        page: '/Resources << /Font << /F1 3 0 R >> /Properties << /L1 10 0 R >> >>',
        catalog: '/OCProperties << /OCGs [10 0 R 11 0 R] /D << /OFF [10 0 R] /Order [10 0 R 11 0 R] >> >>',
        objects: ['<< /Type /OCG /Name (Draft) >>', '<< /Type /OCG /Name (Shown) >>'],
      }),
    says: 'Six berths. Draft of May.',
    warnings: [/^Layers that are not shown were read like the others: Draft\.$/],
  },
  // Amounts printed before the texts on their left; text upside down.
  {
    file: 'amounts.pdf',
    content: () =>
      makePdfOf({
        content: [
          ...[
            ['Sum', '1,234.50'],
            ['Tax', '99.00'],
          ].map(
            ([name = '', amount = ''], i) =>
              `BT /F1 12 Tf ${500 - 6 * amount.length} ${700 - 20 * i} Td (${amount}) Tj ET BT /F1 12 Tf 60 ${700 - 20 * i} Td (${name}) Tj ET`,
          ),
          'BT /F1 12 Tf -1 0 0 -1 300 600 Tm (upside) Tj ET BT /F1 12 Tf -1 0 0 -1 240 600 Tm (down) Tj ET',
        ].join('\n'),
      }),
    lines: ['Sum 1,234.50', 'Tax 99.00'],
    has: ['upside down'],
  },
  // Scripts as high as the other letters; a lower word is none.
  {
    file: 'high.pdf',
    content: () =>
      makePdf([
        [
          [
            { text: 'It is 10' },
            { text: '6', rise: 5 },
            { text: ' km away, CO' },
            { text: '2', rise: -4 },
            { text: ' and log' },
            { text: '2', rise: -4 },
            { text: '8 with ' },
            { text: 'waves', rise: 4 },
            { text: ' of water.' },
          ],
        ],
      ]),
    says: 'It is 10^6 km away, CO2 and log2 8 with waves of water.',
  },
  // Marks of lists that are printed after all items.
  {
    file: 'marks.pdf',
    content: () =>
      makePdfOf({
        content: [
          [80, 700, 'Fill the lamp'],
          [80, 680, 'Light it'],
          [60, 700, '1.'],
          [60, 680, '2.'],
          [60, 640, 'c.'],
        ]
          .map(([left, base, said]) => `BT /F1 12 Tf ${left} ${base} Td (${said}) Tj ET`)
          .join('\n'),
      }),
    says: '1. Fill the lamp 2. Light it c.',
    lines: ['1. Fill the lamp', '2. Light it'],
  },
  // Brackets that a font names as they are meant.
  {
    file: 'meant.pdf',
    content: () => {
      const letters = `${HEBREW}()`
      const said = '\u05e9\u05dc\u05d5\u05dd (\u05e2\u05dc)'
      return makePdfOf({ content: `BT /F2 12 Tf 100 700 Td ${codes(reversed(said), letters)} Tj ET`, font: rightToLeft(letters) })
    },
    says: '\u05e9\u05dc\u05d5\u05dd (\u05e2\u05dc)',
  },
  // A large initial that is printed after the lines next to it, in a word and as one; items with letters.
  {
    file: 'initial.pdf',
    content: () =>
      makePdfOf({
        content: [
          [90, 700, 12, 'he watch lights the lamp at dusk'],
          [90, 686, 12, 'and notes each ship that passes.'],
          [60, 686, 40, 'T'],
          [94, 600, 12, 'lamp burns from dusk until dawn'],
          [90, 586, 12, 'and in fog.'],
          [60, 586, 40, 'A'],
          [60, 500, 12, 'Bring:'],
          [60, 486, 12, 'a\\) oil'],
          [60, 472, 12, 'b\\) wax'],
        ]
          .map(([left, base, size, said]) => `BT /F1 ${size} Tf ${left} ${base} Td (${said}) Tj ET`)
          .join('\n'),
      }),
    says: 'The watch lights the lamp at dusk and notes each ship that passes. A lamp burns from dusk until dawn and in fog. Bring: a) oil b) wax',
    lines: ['a) oil', 'b) wax'],
  },
  {
    file: 'japanese.pdf',
    content: () => {
      const letters = '\u706f\u53f0\u591c\u5149'
      return makePdfOf({ content: linesOf(['<0102>', '<0304>']), font: rightToLeft(letters) })
    },
    says: '\u706f\u53f0\u591c\u5149',
  },
  // Words around a number from right to left, with gaps and no spaces between.
  {
    file: 'gaps.pdf',
    content: () =>
      makePdfOf({
        content: `BT /F2 12 Tf 136 700 Td ${codes(reversed('\u05e9\u05dc\u05d5\u05dd'), HEBREW)} Tj ET BT /F1 12 Tf 118 700 Td (24) Tj ET BT /F2 12 Tf 86 700 Td ${codes(reversed('\u05e2\u05d5\u05dc\u05dd'), HEBREW)} Tj ET`,
        font: rightToLeft(HEBREW),
      }),
    says: '\u05e9\u05dc\u05d5\u05dd 24 \u05e2\u05d5\u05dc\u05dd',
  },
  // ZapfDingbats, whose codes are those of letters, and Symbol; check marks of Wingdings.
  {
    file: 'dingbats.pdf',
    content: () =>
      makePdfOf({
        content: ['4 paid', '8 sent', 'l lamp', 'o rope']
          .map((line, i) => `BT /F2 12 Tf 50 ${700 - 16 * i} Td (${line.charAt(0)}) Tj /F1 12 Tf 18 0 Td (${line.slice(2)}) Tj ET`)
          .join('\n'),
        font: '<< /Type /Font /Subtype /Type1 /BaseFont /ZapfDingbats >>',
      }),
    lines: ['\u2714 paid', '\u2718 sent', '- lamp', '\u274f rope'],
  },
  {
    file: 'symbol.pdf',
    content: () =>
      makePdfOf({
        content: 'BT /F2 12 Tf 50 700 Td (a 8) Tj /F1 12 Tf 40 0 Td (is met.) Tj ET',
        font: '<< /Type /Font /Subtype /Type1 /BaseFont /Symbol >>',
      }),
    has: ['\u03b1 8 is met.'],
  },
  {
    file: 'wingdings.pdf',
    content: () => makePdfOf({ content: linesOf(['<01>']), font: namedLetters('1 /uniF0FC') }),
    says: '\u2713',
  },
  // Words whose letters stand apart, where their ends are known; letters in the order of the alphabet are no word.
  {
    file: 'spaced.pdf',
    content: () =>
      makePdfOf({
        content: ['5 Tc (HARBOUR FEES IN 2024)', '0 Tc (It costs 5.)', '5 Tc (ABCDEF)', '(MTWTFSS)', '(INVOICE)', '2 Tc (see our lamps)']
          .map((shown, i) => `BT /F1 12 Tf 50 ${700 - 40 * i} Td ${shown} Tj ET`)
          .join('\n'),
      }),
    says: 'HARBOUR FEES IN 2024 It costs 5. A B C D E F M T W T F S S INVOICE see our lamps',
  },
  // A mixed number; a sign that a library writes in place of a title.
  {
    file: 'mixed.pdf',
    content: () =>
      makePdf([
        [
          [
            { text: 'Add 3' },
            raised('1'),
            { text: '/' },
            { text: '2', size: 6, rise: -2 },
            { text: ' cups, 10' },
            raised('3'),
            { text: '/h.' },
          ],
        ],
      ]),
    says: 'Add 3 1/2 cups, 10^3/h.',
  },
  {
    file: 'untitled.pdf',
    content: () => titled(makePdf([['Lit.']]), '\\(anonymous\\)'),
    says: 'Lit.',
    title: 'untitled',
    lacks: ['anonymous'],
  },
  // What follows a list or a heading at another place is no part of it.
  {
    file: 'after.pdf',
    content: () =>
      titled(
        makePdf([
          [
            [{ text: 'Harbour report', size: 16, at: 200 }],
            [{ text: 'Fees', size: 16, at: 0 }],
            [{ text: '- oil', at: 0 }],
            [{ text: '- wax and', at: 0 }],
            [{ text: 'wick', at: 10 }],
            [{ text: 'Boat Raft', at: 150 }],
            [{ text: 'Fee 7', at: 150 }],
            `${PROSE}.`,
          ],
        ]),
        'Harbour report',
      ),
    lines: ['- oil', '- wax and wick'],
    headings: { oil: 'Fees' },
    lacks: ['report Fees', 'wick Boat'],
  },
  // Heads and feet of two pages: what is at one place of both is kept once, and not as large letters or the last number of a list.
  {
    file: 'two-pages.pdf',
    content: () =>
      pages(
        (page) => [
          [small('Port of Berg')],
          '',
          ...(page === 1 ? ['# Rules'] : ['', '']),
          `Rule ${page} says that boats wait.`,
          `${PROSE}.`,
          '',
          [small('Confidential')],
          [small(`Page ${page} of 2`)],
        ],
        2,
      ),
    says: 'Port of Berg [Rules] Rule 1 says that boats wait. ' + `${PROSE}. Rule 2 says that boats wait. ${PROSE}. Confidential`,
    warnings: [/^4 lines are left out as running heads: "Port of Berg", "Confidential", "Page 1 of 2", ...\.$/],
  },
  {
    file: 'two-bills.pdf',
    content: () => pages((page) => ['# Bill', `Bill ${page}`, `${PROSE}.`, 'Rope', `${page + 3}`], 2),
    has: ['Bill 1', 'Rope 4', 'Bill 2', 'Rope 5'],
    headings: { 'Rope 5': 'Bill' },
    warnings: [],
  },
  // A form above a table.
  {
    file: 'form-above.pdf',
    content: () =>
      makePdf([
        [
          cells('Name:', 'Ann Berg', 'Day:', '3 May'),
          cells('Quay:', 'Seven', 'No.:', '4711'),
          cells('Item', 'Count', 'Price', 'Note'),
          cells('Lamp', '2', '19.90'),
          cells('Rope', '', '2.00', 'new'),
        ],
      ]),
    lines: ['Quay: Seven No.: 4711', 'Item: Lamp; Count: 2; Price: 19.90', 'Item: Rope; Price: 2.00; Note: new'],
  },
  // Cells of one line that are printed before those of several, whose first line is far above them; the last of these is at their height.
  {
    file: 'statement.pdf',
    content: () =>
      makePdfOf({
        content: printedAt(
          ...inRow(760, { 50: 'Date', 120: 'Text', 320: 'Sum', 400: 'Balance' }),
          [50, 708, '02.05.'],
          ...[[120, 738, 'Transfer to ACME'] as const, [120, 723, 'Reference 4711'] as const],
          ...inRow(708, { 120: 'Invoice 12', 320: '-850.00', 400: '350.00' }),
          ...inRow(680, { 50: '03.05.', 120: 'Fee', 320: '-4.50', 400: '345.50' }),
        ),
      }),
    lines: [
      'Date: 02.05.; Text: Transfer to ACME Reference 4711 Invoice 12; Sum: -850.00; Balance: 350.00',
      'Date: 03.05.; Text: Fee; Sum: -4.50; Balance: 345.50',
    ],
  },
  // Times below a name of several columns, some of which are empty.
  {
    file: 'times.pdf',
    content: () =>
      makePdf([
        [
          placed({ 0: 'Stop', 80: 'Weekdays', 260: 'Sat' }),
          placed({ 0: 'Mole', 80: '06:10', 140: '06:40', 200: '07:10', 260: '08:00' }),
          placed({ 0: 'Quay', 80: '06:14', 140: '|', 200: '07:14' }),
          placed({ 0: 'Hill', 80: '06:30', 200: '07:30', 260: '08:20' }),
        ],
      ]),
    lines: ['Mole 06:10 06:40 07:10 08:00', 'Quay; 06:14; |; 07:14;', 'Hill; 06:30; ; 07:30; 08:20'],
  },
  // Lines that end at the hyphens of compounds alone; those of a text that is hyphenated.
  {
    file: 'compounds.pdf',
    content: () =>
      makePdf([
        [
          'The lamp is oil-',
          'filled, the zero-',
          'rated quay has a two-',
          'storey house and the steel-',
          'framed mole; oil, zero, two and steel.',
        ],
      ]),
    has: ['The lamp is oil-filled, the zero-rated quay has a two-storey house and the steel-framed mole; oil'],
  },
  {
    file: 'hyphenated.pdf',
    content: () =>
      makePdf([
        ['The lamp is oil-', 'filled, with-', 'out a wick, over-', 'all in or-', 'der; it is with oil, over the mole, and has order.'],
      ]),
    has: ['oilfilled, without a wick, overall in order; it'],
  },
  // An address keeps the sign that it is divided after.
  {
    file: 'addresses.pdf',
    content: () =>
      makePdf([
        [
          `${PROSE} that is at https://example.org/port-`,
          'rules?day=',
          'three and writes to ann-berg@exam-',
          'ple.org of the har-',
          'bour.',
        ],
      ]),
    has: ['https://example.org/port-rules?day=three and writes to ann-berg@exam-ple.org of the harbour.'],
  },
]

/** Cases on files of `../shared`. */
export const SHARED_PDF_CASES: readonly FidelityCase[] = [
  {
    file: 'pdf-invoices.pdf',
    has: [
      ...['Invoice 1017', 'Date: 3.05.2025', 'Sum without tax: 120 crowns', 'Total to pay: 150 crowns by 17.05.2025'],
      ...['Invoice 1027', 'Date: 4.05.2025', 'Sum without tax: 310 crowns', 'Total to pay: 387 crowns by 18.05.2025'],
      ...['Invoice 1047', 'Total to pay: 1225 crowns by 20.05.2025'],
    ],
  },
  { file: 'pdf-longparagraph.pdf', pagesBy: ({ text }) => Number(/sheet (\d)/.exec(text)?.[1]) },
  { file: 'pdf-bigglyph.pdf', headings: { 'The operator \u25a0 repeats': '', 'Rule 19': '' } },
  { file: 'pdf-toc.pdf', lines: ['Introduction ... 1', 'Safety rules ... 8', 'Index ... 22'] },
  {
    file: 'split.md',
    has: ['a != b', 'search?q=boat', 'red !important', 'Yahoo!Finance', 'Really?No.', 'x?1:2;', 'v20.Alpha', '3.2.Beta', '!node', '(!ok)'],
  },
]
