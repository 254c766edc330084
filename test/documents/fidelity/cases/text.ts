import type { FidelityCase } from '../contract.ts'

export const TEXT_CASES: readonly FidelityCase[] = [
  {
    file: 'sections.txt',
    content: 'Terms of rent\n\n1 Rent\n\nRent is due on the first day of a month.\n\n1.1 Delay\n\nA delay costs 4 crowns a day.\n',
    title: 'Terms of rent',
    says: '[1 Rent] Rent is due on the first day of a month. [1 Rent > 1.1 Delay] A delay costs 4 crowns a day.',
    headings: { 'A delay': '1 Rent > 1.1 Delay' },
  },
  {
    file: 'letter.txt',
    content:
      'The lamp\n\nIt burns at night.\n\nSigned-off-by: Ann Berg <ann@example.org>\n\nSee it there.\n\nlamp = new Lamp()\n\nIt is lit.\n\nFuel and wick\n\nWhale oil.\n',
    says: 'It burns at night. Signed-off-by: Ann Berg <ann@example.org> See it there. lamp = new Lamp() It is lit. [Fuel and wick] Whale oil.',
    title: 'The lamp',
  },
  {
    file: 'asciidoc.txt',
    content:
      'The lamp\n========\n\n[[fuel]]\n== Fuel\n\nWhale oil.\n\n----\n$ lamp --fill\n----\n\nNote: lit\n\nAt night.\n\n== Wick\n\nCotton.\n\n=== Old wicks\n\nHemp.\n',
    says: '[Fuel] Whale oil. $ lamp --fill Note: lit At night. [Wick] Cotton. [Wick > Old wicks] Hemp.',
    title: 'The lamp',
  },
  // The text may refer to the numbers of a list as they are written.
  {
    file: 'numbers.txt',
    content: 'Rent is due as in (2):\n\n(1) in May,\n(2) in June.\n\n1) cash\n2) card\n\n* none\n',
    says: 'Rent is due as in (2): (1) in May, (2) in June. 1) cash 2) card - none',
  },
  // Tables drawn with bars: cells of several lines, or a line a row.
  {
    file: 'boxes.txt',
    content:
      'Lamps of the port\n\n+------+-----+----------+\n| name | oil | use      |\n|------+-----+----------|\n| mole | 3 l | every    |\n|      |     | night    |\n|------+-----+----------|\n| quay | 2 l | in fog   |\n+------+-----+----------+\n\n' +
      '+----+-------+\n| id | place |\n+----+-------+\n| 7  | mole  |\n| 8  | q | y |\n+----+-------+\n\n| a | b |\n| c | d |\n| e | f |\n',
    lines: [
      'name: mole; oil: 3 l; use: every night',
      'name: quay; oil: 2 l; use: in fog',
      'id: 7; place: mole',
      'id: 8; place: q | y',
      'a: b',
      'e: f',
    ],
  },
  // Full tables of columns that spaces or tabs align are read line by line.
  {
    file: 'aligned.txt',
    content:
      'Fees\n\nItem        Price   Days\nRope        15.00      3\nAnchor     120.50      1\n\nName:\tAnn Berg\nCity:\tOslo\n\nIt is due in May.   It is\npaid at the quay.\n',
    lines: ['Rope 15.00 3', 'Anchor 120.50 1', 'City: Oslo', 'It is due in May. It is paid at the quay.'],
  },
  // Bullets and check boxes of other signs.
  // A line does not show which of its cells is empty.
  {
    file: 'empty-cells.txt',
    content: [
      'Goods      March   April    May',
      'Rope           5               7',
      'Sail                   3',
      'Tar           11      12      13',
    ].join('\n'),
    lines: ['Goods: Rope; March: 5; May: 7', 'Goods: Sail; April: 3', 'Goods: Tar; March: 11; April: 12; May: 13'],
  },
  {
    file: 'tabs.txt',
    content: 'Goods\tMarch\tApril\nRope\t\t7\nSail\t5\t\nTar\t11\t12',
    lines: ['Goods: Rope; April: 7', 'Goods: Sail; March: 5', 'Goods: Tar; March: 11; April: 12'],
  },
  {
    file: 'bullets.txt',
    content: 'Buy:\n\n\u25cf oil\n\u25cb wax\n\uf0b7 wick\n\nDo:\n\n\u2610 fill it\n\u2611 light it\n',
    lines: ['- oil', '- wax', '- wick', '\u2610 fill it', '\u2611 light it'],
  },
  // A word divided between two lines; items with letters; tables with rules, and drawn with signs of boxes.
  {
    file: 'divided.txt',
    content:
      'The lamp is well-\nknown in pre-\nand postwar years.\n\n- self-\n  made\n- old\n\na) fill it\nb) light it\n   at night\n\n(i) oil\n(ii) wax\n',
    lines: ['The lamp is well-known in pre- and postwar years.', '- self-made', 'a) fill it', 'b) light it at night', '(ii) wax'],
  },
  {
    file: 'drawn.txt',
    content:
      'Fees of boats\n\n\u250c\u2500\u2500\u2500\u2500\u2500\u2500\u252c\u2500\u2500\u2500\u2500\u2500\u2510\n\u2502 Boat \u2502 Fee \u2502\n\u251c\u2500\u2500\u2500\u2500\u2500\u2500\u253c\u2500\u2500\u2500\u2500\u2500\u2524\n\u2502 Raft \u2502 7   \u2502\n\u2514\u2500\u2500\u2500\u2500\u2500\u2500\u2534\u2500\u2500\u2500\u2500\u2500\u2518\n\n' +
      'Item      Price\n---------------\nRope       5.00\nTar ...... 1.00\n          -----\nSum        6.00\n',
    title: 'Fees of boats',
    says: 'Boat: Raft; Fee: 7 Item Price Rope 5.00 Tar ...... 1.00 Sum 6.00',
    lines: ['Rope 5.00', 'Tar ...... 1.00', 'Sum 6.00'],
  },
  // Values keep their columns, by tabs or by their places in the lines.
  {
    file: 'gaps.txt',
    content:
      'Fees\n\nBoat\tQ1\tQ2\nRaft\t\t5\nTug\t7\t\n\nThese are the sums.\n\nSum      Q1     Q2\nRaft            5\nTug       7\n\nWare\t\tPrice\tWeight\nLong rope\t5\t7\n\nOf May:\n\nTar             9\nRaft      8     7\n',
    lines: [
      'Boat Q1 Q2',
      'Boat: Raft; Q2: 5',
      'Boat: Tug; Q1: 7',
      'Sum Q1 Q2',
      'Sum: Raft; Q2: 5',
      'Sum: Tug; Q1: 7',
      'Ware Price Weight',
      'Long rope 5 7',
      'Tar; ; 9',
      'Raft 8 7',
    ],
  },
  {
    file: 'titled.txt',
    content: 'It is May.\n\nPRICES\nOil         2   12.50\nWick       10    8.00\n',
    lines: ['PRICES', 'Oil 2 12.50', 'Wick 10 8.00'],
  },
  // Lines of scripts without spaces.
  {
    file: 'japanese.txt',
    content: '\u706f\u53f0\u306f\n\u591c\u306b\u5149\u308b\u3002\nThe lamp\n\u5149.\n',
    says: '\u706f\u53f0\u306f\u591c\u306b\u5149\u308b\u3002 The lamp \u5149.',
  },
  // Cells of several lines, of which the further ones may be indented; one that is below no cell is a row.
  {
    file: 'wrapped-cells.txt',
    content:
      'No.   Article           Price\n4711  Lamp, brass       80.00\n4712  Oil                3.50\n      (organic)\n4713  Rope, 3 m      on request\n        or longer,\n        tarred\n                   all\n                   with tax\n\nkeeper\tLights the lamp.\npilot\tGuides ships\n\t  to the quay.\n\n3.19   2001-03-09\n    * The lamp is lit by the\n      keeper.   It is old.\n',
    lines: [
      ...['4711 Lamp, brass 80.00', '4712 Oil (organic) 3.50', '4713 Rope, 3 m or longer, tarred on request', 'all with tax'],
      ...['keeper Lights the lamp.', 'pilot Guides ships to the quay.'],
      '3.19 2001-03-09 * The lamp is lit by the keeper. It is old.',
    ],
  },
  // Messages with blank lines in them, and with the time alone.
  {
    file: 'chat.txt',
    content:
      '12/05/2024, 09:16 - Ann: Good morning\n12/05/2024, 09:17 - Bo: Bring these:\n\nthe lamp\n12/05/2024, 09:20 - Ann: Yes\n\n[00:12:45] Ann: Now\n[00:13:02] Bo: It costs 40\n\nWe left on\n12/05/2024, 09:20 and came back.\n',
    lines: [
      '12/05/2024, 09:17 - Bo: Bring these:',
      'the lamp',
      '12/05/2024, 09:20 - Ann: Yes',
      '[00:12:45] Ann: Now',
      '[00:13:02] Bo: It costs 40',
      'We left on 12/05/2024, 09:20 and came back.',
    ],
  },
  // Clauses of a contract, with the items in them.
  {
    file: 'clauses.txt',
    content:
      '1. RENT\n1.1 The rent is 850 crowns,\n    with water.\n(a) It is due in May.\n    (i) after 10 days: 10 %\n    (ii) after 20 days: 15 %\n1.2 It rises by\n2.5 crowns a year.\n',
    lines: [
      '1.1 The rent is 850 crowns, with water.',
      '(a) It is due in May.',
      '  (ii) after 20 days: 15 %',
      '1.2 It rises by 2.5 crowns a year.',
    ],
  },
]
