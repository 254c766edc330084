import type { Golden } from '../../../models/golden.ts'
import type { AnswerRead, GenerateRequest } from '../../../src/inference/contract.ts'
import { wordsOf } from '../../fixtures/built-fixture.ts'

/** Largest difference to the recorded outputs, in f32. */
export const ATOL = 2e-4

/** Unmasked ids of each row. */
export function rowsOf(golden: Golden, ids: string, mask: string): number[][] {
  if (!golden.has(ids)) return []
  const {
    data,
    shape: [rows = 0, length = 0],
  } = golden.ints(ids)
  const kept = golden.ints(mask).data
  return Array.from({ length: rows }, (_, row) =>
    [...data.subarray(row * length, (row + 1) * length)].filter((_, i) => kept[row * length + i] === 1n).map(Number),
  )
}
export function numbers(golden: Golden, name: string): number[] {
  return Array.from(golden.ints(name).data, Number)
}

/** The golden file's inputs as a request: its contexts as texts. */
export function requestOf(golden: Golden): GenerateRequest {
  return {
    contexts: rowsOf(golden, 'encoder_input_ids', 'encoder_attention_mask').map(wordsOf),
    contextTokens: 256,
    promptIds: numbers(golden, 'input_ids'),
    stopIds: numbers(golden, 'stop_ids'),
    maxNewTokens: numbers(golden, 'max_new_tokens')[0] ?? 0,
  }
}

export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return a.length === b.length ? Math.max(...Array.from(a, (value, i) => Math.abs(value - (b[i] ?? NaN)))) : NaN
}

/** A question in a fixture's words, with eight passages. */
export function question(text: string, more: Partial<AnswerRead> = {}): AnswerRead {
  return {
    question: text,
    mode: 'cepe',
    passages: Array.from({ length: 8 }, (_, i) => ({ title: `w${i + 3}`, text: `w${i + 4} w${i + 9} w7`, score: 10 - i })),
    kDecoder: 2,
    encoderPassages: 'others',
    demonstrations: [],
    contextTokens: 16,
    packing: 'passages',
    maxNewTokens: 9,
    replugTemperature: 1,
    includePrompts: false,
    ...more,
  }
}
