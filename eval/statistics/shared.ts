/** Records of the same items in two runs, in the order of the first run. */
export function sharedItems<R extends { readonly id: string }>(
  a: readonly R[],
  b: readonly R[],
  isScored: (record: R) => boolean,
  isSame: (a: R, b: R) => boolean = () => true,
): [R, R][] {
  const ofB = new Map(b.filter(isScored).map((record) => [record.id, record]))
  return a.filter(isScored).flatMap((record): [R, R][] => {
    const other = ofB.get(record.id)
    return other !== undefined && isSame(record, other) ? [[record, other]] : []
  })
}

/** Formats a p-value for reports. */
export function pText(value: number): string {
  return value < 0.001 ? '< 0.001' : value.toFixed(3)
}
