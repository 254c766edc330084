import type { FidelityCase } from '../contract.ts'

export const MARKDOWN_CASES: readonly FidelityCase[] = [
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
]
