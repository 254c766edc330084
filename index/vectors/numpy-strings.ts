import { at } from '../../base/at.ts'
import type { PickleSource } from '../../base/pickle/machine.ts'

/** A numpy array of fixed-width strings (`<U8`) in a file: four bytes per character, padded with zeros. */
export interface StringArray {
  readonly count: number
  /** Characters per string. */
  readonly width: number
  readonly isLittleEndian: boolean
  /** Byte offset of its first character. */
  readonly offset: number
}

export const CHARACTER_BYTES = 4
/** Bytes per read. */
const BLOCK_BYTES = 1 << 18
/** Far above the longest id. */
const MOST_WIDTH = 1 << 12

/** Characters of each string of a numpy type (`U8`); undefined for any other type. */
export function stringWidth(type: string): number | undefined {
  const width = Number(/^U(\d+)$/.exec(type)?.[1])
  return width > 0 && width <= MOST_WIDTH ? width : undefined
}

/** Reads all strings of an array, without padding. @throws RangeError for an invalid code point */
export function readStrings({ count, width, isLittleEndian, offset }: StringArray, source: PickleSource): string[] {
  const bytes = CHARACTER_BYTES * width
  const perBlock = Math.max(1, Math.floor(BLOCK_BYTES / bytes))
  const found: string[] = []
  const points = new Array<number>(width)
  for (let row = 0; row < count; row += perBlock) {
    const rows = Math.min(perBlock, count - row)
    const block = source.read(offset + row * bytes, rows * bytes)
    const view = new DataView(block.buffer, block.byteOffset, rows * bytes)
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < width; j++) points[j] = view.getUint32((i * width + j) * CHARACTER_BYTES, isLittleEndian)
      let length = width
      while (length > 0 && at(points, length - 1) === 0) length--
      found.push(String.fromCodePoint(...points.slice(0, length)))
    }
  }
  return found
}
