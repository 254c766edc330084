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
  // Tables of columns that spaces or tabs align are read line by line.
  {
    file: 'aligned.txt',
    content:
      'Fees\n\nItem        Price   Days\nRope        15.00      3\nAnchor     120.50      1\n\nName:\tAnn Berg\nCity:\tOslo\n\nIt is due in May.   It is\npaid at the quay.\n',
    lines: ['Rope 15.00 3', 'Anchor 120.50 1', 'City: Oslo', 'It is due in May. It is paid at the quay.'],
  },
]
