import type { FidelityCase } from '../contract.ts'

export const DOCX_CASES: readonly FidelityCase[] = []
