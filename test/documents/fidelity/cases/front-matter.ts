import type { FidelityCase } from '../contract.ts'

const titled = (front: string, title: string, i: number): FidelityCase => ({
  file: `front-${i}.md`,
  content: `---\n${front}\nlayout: page\n---\n\nThe lamp burns at night.\n`,
  says: 'The lamp burns at night.',
  title,
})

/** Titles of Markdown files by their front matter. */
export const FRONT_MATTER_CASES: readonly FidelityCase[] = [
  titled('title: The lamp', 'The lamp', 1),
  titled('title: >-\n  The lamp\n  on the mole', 'The lamp on the mole', 2),
  titled('title: |\n  The lamp', 'The lamp', 3),
  titled('title: "The \\"old\\" lamp"', 'The "old" lamp', 4),
  titled("title: 'The keeper''s lamp'", "The keeper's lamp", 5),
  titled('title: The lamp # not the bell', 'The lamp', 6),
  titled('title: Lamps: a list', 'Lamps: a list', 7),
  titled('title:\n  The lamp', 'The lamp', 8),
  titled('title: 2025', '2025', 9),
  titled('title: ""', 'front-10', 10),
  titled('title: 1.10', '1.10', 12),
  titled('title: 0x1F', '0x1F', 13),
  titled('sidebar_position: 3\nslug: /lamp\ndraft: false', 'front-11', 11),
  {
    file: 'fields.md',
    content:
      '---\ntitle: The lamp\nlayout: page\nauthor:\n  - Ann Berg\n  - {name: Bo Ek, email: bo@example.org}\ndate: 2024-05-31\ndescription: >-\n  How the lamp\n  is lit.\ntags: [harbour, light]\n---\n\n# Lighting\n\nThe lamp burns at night.\n',
    says: '[Lighting] author: Ann Berg, Bo Ek, bo@example.org date: 2024-05-31 description: How the lamp is lit. tags: harbour, light The lamp burns at night.',
    title: 'The lamp',
    lacks: ['layout'],
  },
  {
    file: 'first-heading.md',
    content: '---\nDescription: Lamps: a list\ndate: 2024\n---\n\n# The lamp\n\nIt burns at night.\n',
    says: 'Description: Lamps: a list date: 2024 It burns at night.',
    title: 'The lamp',
  },
  {
    file: 'toml.md',
    content:
      '+++\ntitle = "The lamp"\ndate = 2024-05-31\ntags = ["harbour", "light"]\n[params]\nauthor = "none"\n+++\n\nIt burns at night.\n',
    says: 'date: 2024-05-31 tags: harbour, light It burns at night.',
    title: 'The lamp',
  },
  {
    file: 'pandoc.md',
    content: '% The lamp:\n  oil\n% Ann Berg\n% 31 May 2024\n\n# Lighting\n\nIt burns at night.\n',
    says: '[Lighting] author: Ann Berg date: 31 May 2024 It burns at night.',
    title: 'The lamp: oil',
  },
  {
    file: 'rules.md',
    content: '---\n\nText between two rules.\n\n---\n\nAnd after them.\n',
    says: 'Text between two rules. And after them.',
  },
]
