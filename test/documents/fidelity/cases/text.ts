import type { FidelityCase } from '../contract.ts'

export const TEXT_CASES: readonly FidelityCase[] = [
  {
    file: 'sections.txt',
    content: 'Terms of rent\n\n1 Rent\n\nRent is due on the first day of a month.\n\n1.1 Delay\n\nA delay costs 4 crowns a day.\n',
    title: 'Terms of rent',
    says: '[1 Rent] Rent is due on the first day of a month. [1 Rent > 1.1 Delay] A delay costs 4 crowns a day.',
    headings: { 'A delay': '1 Rent > 1.1 Delay' },
  },
]
