import type { FidelityCase } from '../contract.ts'

export const MARKDOWN_CASES: readonly FidelityCase[] = []
