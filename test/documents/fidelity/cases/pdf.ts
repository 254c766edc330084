import { makePdf } from '../../../fixtures/pdf.ts'
import type { FidelityCase } from '../contract.ts'

export const PDF_CASES: readonly FidelityCase[] = [
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
]
