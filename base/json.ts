/** Parses a JSON text; undefined if it is invalid (no JSON text has that value). */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Significant digits that a double has of every number: more are rounding errors. */
export const EXACT_DIGITS = 15

/** Whether a number is the one that was written: JSON's integers beyond 2^53 are rounded, unless they have few digits (9.46e15). */
export function isExact(value: number): boolean {
  return !Number.isInteger(value) || Number.isSafeInteger(value) || Number(value.toPrecision(EXACT_DIGITS)) === value
}
