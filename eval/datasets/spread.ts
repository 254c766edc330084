/** Of tasks whose demo data is sorted by kind. */
export const ITEMS = 'items, from the first (of the demo questions: evenly spaced)'

/** `count` of the values, or all, evenly spaced from the first. */
export function spread<T>(values: readonly T[], most: number): T[] {
  const kept = Math.min(most, values.length)
  return values.filter((_, i) => Math.floor((i * kept) / values.length) !== Math.floor(((i - 1) * kept) / values.length))
}
