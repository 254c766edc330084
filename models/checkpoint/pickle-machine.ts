import { at } from '../../base/at.ts'
import { invalid } from '../errors.ts'
import { PickleDict, PickleList, type PickleValue } from './pickle-values.ts'

/** Far above what a state dict of any size needs, far below what hurts. */
export const PICKLE_LIMITS = { bytes: 1 << 24, stack: 1 << 16, memo: 1 << 19, stringBytes: 1 << 12, integerBytes: 8 } as const

/** The stack, marks and memo of a pickle's program, and its bytes. */
export class Machine {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #file: string
  #at = 0
  readonly #stack: PickleValue[] = []
  /** Stack heights at the open MARKs. */
  readonly #marks: number[] = []
  readonly #memo = new Map<number, PickleValue>()

  constructor(bytes: Uint8Array, file: string) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#file = file
  }

  fail(problem: string): never {
    throw invalid(`${this.#file}: the pickle ${problem} (at byte ${this.#at}); nothing of it was executed`, this.#file)
  }

  #advance(count: number): number {
    const start = this.#at
    if (count > this.#bytes.length - start) this.fail('ends in the middle of an instruction')
    this.#at += count
    return start
  }

  u8(): number {
    return this.#view.getUint8(this.#advance(1))
  }
  u16(): number {
    return this.#view.getUint16(this.#advance(2), true)
  }
  u32(): number {
    return this.#view.getUint32(this.#advance(4), true)
  }
  i32(): number {
    return this.#view.getInt32(this.#advance(4), true)
  }
  f64(): number {
    return this.#view.getFloat64(this.#advance(8), false)
  }
  u64(): number {
    const value = this.#view.getBigUint64(this.#advance(8), true)
    return value > BigInt(Number.MAX_SAFE_INTEGER) ? this.fail(`has the length ${value}`) : Number(value)
  }

  text(length: number): string {
    if (length > PICKLE_LIMITS.stringBytes) this.fail(`has a string of ${length} bytes, more than ${PICKLE_LIMITS.stringBytes}`)
    const start = this.#advance(length)
    return new TextDecoder().decode(this.#bytes.subarray(start, start + length))
  }

  line(): string {
    const end = this.#bytes.indexOf(0x0a, this.#at)
    if (end < 0) this.fail('ends in the middle of a line')
    const text = this.text(end - this.#at)
    this.#advance(1)
    return text
  }

  /** Python's LONG: little-endian two's complement. */
  long(length: number): number {
    if (length > PICKLE_LIMITS.integerBytes) this.fail(`has an integer of ${length} bytes`)
    const start = this.#advance(length)
    let value = 0n
    for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(at(this.#bytes, start + i))
    const number = Number(BigInt.asIntN(8 * length, value))
    return Number.isSafeInteger(number) ? number : this.fail('has an integer beyond 2^53')
  }

  push(value: PickleValue): void {
    if (this.#stack.length >= PICKLE_LIMITS.stack) this.fail(`nests deeper than ${PICKLE_LIMITS.stack} values`)
    this.#stack.push(value)
  }

  pop(): PickleValue {
    if (this.#stack.length <= (this.#marks.at(-1) ?? 0)) this.fail('takes a value from an empty stack')
    const value = this.#stack.pop()
    return value === undefined ? this.fail('takes a value from an empty stack') : value
  }

  popMany(count: number): readonly PickleValue[] {
    return Array.from({ length: count }, () => this.pop()).reverse()
  }

  top(): PickleValue {
    const value = this.pop()
    this.#stack.push(value)
    return value
  }

  mark(): void {
    if (this.#marks.length >= PICKLE_LIMITS.stack) this.fail(`nests deeper than ${PICKLE_LIMITS.stack} marks`)
    this.#marks.push(this.#stack.length)
  }

  popToMark(): readonly PickleValue[] {
    const height = this.#marks.pop()
    return height === undefined ? this.fail('closes a mark that was never set') : this.#stack.splice(height)
  }

  memoize(key: number): void {
    if (this.#memo.size >= PICKLE_LIMITS.memo) this.fail(`remembers more than ${PICKLE_LIMITS.memo} values`)
    this.#memo.set(key, this.top())
  }

  memoizeNext(): void {
    this.memoize(this.#memo.size)
  }

  recall(key: number): PickleValue {
    const value = this.#memo.get(key)
    return value === undefined ? this.fail(`recalls value ${key}, which it never stored`) : value
  }

  append(items: readonly PickleValue[]): void {
    const list = this.top()
    if (!(list instanceof PickleList)) return this.fail('appends to something that is no list')
    if (items.includes(list)) this.fail('has a list that contains itself')
    for (const item of items) list.items.push(item)
  }

  setItems(flat: readonly PickleValue[]): void {
    const dict = this.top()
    if (!(dict instanceof PickleDict)) return this.fail('sets items of something that is no dictionary')
    if (flat.length % 2 !== 0) this.fail('has a dictionary key without a value')
    if (flat.includes(dict)) this.fail('has a dictionary that contains itself')
    for (let i = 0; i < flat.length; i += 2) dict.entries.set(at(flat, i), at(flat, i + 1))
  }

  /** End of the program: the one value left. */
  result(): PickleValue {
    const value = this.pop()
    if (this.#stack.length > 0 || this.#marks.length > 0) this.fail('leaves more than one value')
    return value
  }

  done(): boolean {
    return this.#at >= this.#bytes.length
  }
}
