/**
 * Returns the element at an index that must exist. A missing one is a bug, for which there is no fallback value. In loops over millions of
 * numbers write `x[i] as number` instead (this function is megamorphic and slow there): an index past the end then gives NaN, not a
 * plausible number.
 * @throws RangeError naming the index and the length
 */
export function at<T>(items: ArrayLike<T>, index: number): T {
  if (index < 0 || index >= items.length) throw new RangeError(`This is a bug: index ${index} of ${items.length} elements was read.`)
  return items[index] as T
}

/** Returns a value that must be defined. @throws Error if it is not, which is a bug */
export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('This is a bug: a value that must be there is missing.')
  return value
}

/** Those of an object's fields that are set: none is undefined. */
export function given<Fields extends object>(fields: Fields): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as ReturnType<typeof given<Fields>>
}

/** The value of a key; made and kept if there is none yet. */
export function keptOrMade<Key, Value>(kept: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = kept.get(key)
  if (known !== undefined) return known
  const made = make()
  kept.set(key, made)
  return made
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** NaN without values. */
export function mean(values: readonly number[]): number {
  return sum(values) / values.length
}

/** A number of things: "1 shard", "2 shards". */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

/**
 * A number of bytes for people, in powers of ten: `812 kB`, `3.4 MB`, `120 MB`.
 * @param round the last digit: what is needed is rounded up, what is free down
 */
export function sizeText(bytes: number, round = Math.round): string {
  if (bytes < 1e6) return `${round(bytes / 1e3)} kB`
  return `${bytes < 1e7 ? round(bytes / 1e5) / 10 : round(bytes / 1e6)} MB`
}

/** z of the two-sided 95 % interval. */
const Z = 1.96

/** Wilson's 95 % interval of a share of `trials`. */
export function wilson(share: number, trials: number): { readonly low: number; readonly high: number } {
  const middle = share + Z ** 2 / (2 * trials)
  const half = Z * Math.sqrt((share * (1 - share)) / trials + Z ** 2 / (4 * trials ** 2))
  const scale = 1 + Z ** 2 / trials
  return { low: Math.max(0, (middle - half) / scale), high: Math.min(1, (middle + half) / scale) }
}

/** Concatenates typed arrays. */
export function joined<Data extends Float32Array | Uint16Array>(kind: new (length: number) => Data, parts: readonly Data[]): Data {
  const all = new kind(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    all.set(part, offset)
    offset += part.length
  }
  return all
}
