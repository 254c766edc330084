import type { FidelityCase } from '../contract.ts'

export const EPUB_CASES: readonly FidelityCase[] = []
