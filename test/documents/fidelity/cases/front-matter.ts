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
  titled('tags: [a, b]', 'front-11', 11),
  {
    file: 'rules.md',
    content: '---\n\nText between two rules.\n\n---\n\nAnd after them.\n',
    says: 'Text between two rules. And after them.',
  },
]
