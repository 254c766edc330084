/** What a pickle's program builds: data only. */

/** A name in the pickle, `module.name`; never resolved to code. */
export class PickleGlobal {
  constructor(readonly path: string) {}
}

/** A result of the host's functions, opaque to the reader. */
export abstract class PickleObject {
  abstract readonly kind: string
}

export class PickleTuple {
  constructor(readonly items: readonly PickleValue[]) {}
}
export class PickleList {
  readonly items: PickleValue[] = []
}
export class PickleDict {
  readonly entries = new Map<PickleValue, PickleValue>()
}

/** Bytes of the pickle, left in the source: `length` of them from `offset`. */
export class PickleBytes {
  constructor(
    readonly offset: number,
    readonly length: number,
  ) {}
}

export type PickleValue =
  | null
  | boolean
  | number
  | string
  | PickleTuple
  | PickleList
  | PickleDict
  | PickleGlobal
  | PickleBytes
  | PickleObject

export function describePickle(value: PickleValue | undefined): string {
  if (value instanceof PickleGlobal) return value.path
  if (value instanceof PickleObject) return value.kind
  if (value instanceof PickleTuple) return `a tuple of ${value.items.length}`
  if (value instanceof PickleList) return 'a list'
  if (value instanceof PickleBytes) return `${value.length} bytes`
  if (value instanceof PickleDict) return 'a dictionary'
  return typeof value === 'string' ? JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}...` : value) : String(value)
}
