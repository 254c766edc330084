/** Anything with numbered elements: arrays and typed arrays. */
interface Indexed<T> {
  readonly length: number
  readonly [index: number]: T
}

/**
 * The element at an index that the code knows to be there. Where it is not, that is a mistake of the code, which must not
 * go on with a stand-in value. In loops over millions of numbers write `x[i] as number` instead (this function sees every kind of
 * array, which is slow there): an index past the end then makes a NaN, not a plausible number.
 * @throws RangeError naming the index and the length
 */
export function at<T>(items: Indexed<T>, index: number): T {
  if (index < 0 || index >= items.length) throw new RangeError(`This is a bug: index ${index} of ${items.length} elements was read.`)
  return items[index] as T
}

/** A value that the code knows to be there. @throws Error where it is not: a mistake of the code */
export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('This is a bug: a value that must be there is missing.')
  return value
}
