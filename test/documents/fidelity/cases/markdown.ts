import type { FidelityCase } from '../contract.ts'

export const MARKDOWN_CASES: readonly FidelityCase[] = [
  // Pandoc's tables, and names of headings.
  {
    file: 'pandoc.md',
    content:
      '# Fees {#fees .small}\n\nOf {{#if}}\n\n+------+----+----+\n| Boat | Q1 | Q2 |\n+======+====+====+\n| Raft |    | 5  |\n+------+----+----+\n\nEnd.\n',
    says: 'Of {{#if}} +------+----+----+ | Boat | Q1 | Q2 | +======+====+====+ | Raft | | 5 | +------+----+----+ End.',
    title: 'Fees',
    lines: ['| Raft |    | 5  |'],
  },
  {
    file: 'mill.md',
    content:
      '# Mill\n\n<table>\n<tr><th>Built</th><td>1811 in oak</td></tr>\n<tr><th>Owner</th><td>Ann Berg</td></tr>\n</table>\n\n' +
      '| Setting | Value |\n|---|---|\n| Owner | Owner |\n| Port | 80 |\n\n| | |\n|---|---|\n| Height | 21 m |\n| Sails | four |\n\n' +
      '| Team | Won | Lost |\n|---|---|---|\n| A | 3 | 3 |\n| | 1 | 1 |\n\n- [x] paid\n- [ ] sent\n\n1. one\n   1. inner\n2. two\n\nSee 2<sup>10</sup> ![The mill in 1900](m.png).\n',
    title: 'Mill',
    says:
      'Built: 1811 in oak Owner: Ann Berg Setting: Owner; Value: Owner Setting: Port; Value: 80 Height: 21 m Sails: four ' +
      'Team: A; Won: 3; Lost: 3 Won: 1; Lost: 1 - [x] paid - [ ] sent 1. one 1. inner 2. two See 2^10 The mill in 1900.',
    lines: ['  1. inner'],
  },
  // A list of the page's headings and a menu say nothing; other lists of links do.
  {
    file: 'contents.md',
    content:
      '# Quay\n\n[Home](https://a.example) | [News](https://b.example) | [Shop](https://c.example)\n\n' +
      '- [Berths](#berths)\n- [1. Lamps](#lamps)\n  - [Oil](#oil)\n- [Tides](#tides)\n\n## Berths\n\nSix berths.\n\n## Lamps\n\nTwo lamps.\n\n### Oil\n\nRape oil.\n\n## Tides\n\nTwice a day.\n\n' +
      '## See also\n\n- [The mole](mole.md)\n- [The tug](tug.md)\n- [Berths](https://d.example)\n\n[One](a.md), [two](b.md) and [three](c.md).\n',
    says: '[Berths] Six berths. [Lamps] Two lamps. [Lamps > Oil] Rape oil. [Tides] Twice a day. [See also] - The mole - The tug - Berths One, two and three.',
    warnings: [/^\d+ % of the page's text was read/],
  },
  { file: 'links.md', content: '- [Berths](#berths)\n- [Lamps](#lamps)\n- [Tides](#tides)\n', says: '- Berths - Lamps - Tides' },
  // Formulas, footnotes and words in angle brackets are no marks of Markdown.
  {
    file: 'formulas.md',
    content:
      'It is $a*b$ and $c*d$, $5 and $6, \\(\\alpha*b*c\\) and \\[optional\\].\n\n$$\nx_1 * y_1 * z \\\\\n= 2\n$$\n\nUse `List<A>` or List<String> in <your name>, not <b>bold</b><br>text.\n',
    says: 'It is $a*b$ and $c*d$, $5 and $6, \\(\\alpha*b*c\\) and [optional]. $$ x_1 * y_1 * z \\\\ = 2 $$ Use List<A> or List<String> in <your name>, not bold text.',
  },
  // What code closes is not closed in the text.
  {
    file: 'literal.md',
    content:
      'Use <name> in __init__.py or __main__(), 2*3*4 = 24, *2*, **3*4** and 3.5*2,5*6; __bold__ and *a*b.\n\n```\n<name>Ann</name>\n```\n\nIt costs $5 and $10.\n',
    says: 'Use <name> in __init__.py or __main__(), 2*3*4 = 24, 2, 3*4 and 3.5*2,5*6; bold and ab. <name>Ann</name> It costs $5 and $10.',
  },
  {
    file: 'footnotes.md',
    content:
      '# Oil\n\nWhale[^w] or rape[^1], whale[^w] first[^none].\n\n# Wick\n\nCotton.\n\n[^1]: https://example.org/rape\n[^w]: Long\nnote.\n\n    Its *second* paragraph.\n',
    says: '[Oil] Whale[1] or rape[2], whale[1] first[^none]. [1] Long note. Its second paragraph. [2] https://example.org/rape [Wick] Cotton.',
  },
  {
    file: 'noted.md',
    content: 'As in [^1] and **[^2]**.\n\n[^1]: Harbour law.\n[^2]: Sea law.\n',
    says: 'As in [1] and [2]. [1] Harbour law. [2] Sea law.',
  },
  // Tildes of numbers and between words strike nothing out.
  {
    file: 'tildes.md',
    content: 'About ~5 EUR, ~10 min or ~\u20ac20; 5~6 and 1.5~2.5 kg, Fig.~7; Dr.~Berg and Dr.~Ravn, ~~10 EUR~~ 12, ~gone away~.\n',
    says: 'About ~5 EUR, ~10 min or ~\u20ac20; 5~6 and 1.5~2.5 kg, Fig.~7; Dr.~Berg and Dr.~Ravn, ~~10 EUR~~ 12, ~~gone away~~.',
  },
  {
    file: 'lowered.md',
    content: 'H~2~O and CO~2~ for ~~12~~15 crowns, ~an old price~ now 5~0~1.\n',
    says: 'H2O and CO2 for ~~12~~ 15 crowns, ~~an old price~~ now 5_0 1.',
  },
  // Cells that have no column are not shown, and named.
  {
    file: 'surplus.md',
    content: '| Boat | Fee |\n|---|---|\n| Raft | 7 | kr |\n| Tug | `a|b` |\n| Yacht \\| sail | 9 |\n| Barge |\n',
    has: ['Boat: Raft; Fee: 7', 'Boat: Yacht | sail; Fee: 9', 'Boat: Barge'],
    warnings: [/^Not read: cells beyond the columns of a table \(2\)\.$/],
  },
  // A table whose only name of a column is its title.
  {
    file: 'titled.md',
    content: '| **Aurora** | |\n|---|---|\n| Built | 1912 |\n| Length | 120 m<br>394 ft |\n',
    says: 'Aurora Built: 1912 Length: 120 m 394 ft',
  },
]
