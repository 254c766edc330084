import type { FidelityCase } from '../contract.ts'

export const HTML_CASES: readonly FidelityCase[] = []
