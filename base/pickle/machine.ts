import { at } from '../at.ts'
import { PickleBytes, PickleDict, PickleList, type PickleValue } from './values.ts'

/** Far above what a state dict needs, far below what is harmful. `stack`: values on the stack, and open marks. */
export const PICKLE_LIMITS = { bytes: 1 << 24, stack: 1 << 16, memo: 1 << 19, stringBytes: 1 << 12, integerBytes: 8, protocol: 4 }
export type PickleLimits = Readonly<typeof PICKLE_LIMITS>

export interface PickleSource {
  readonly size: number
  /** Returns at least `count` bytes from `offset` on, within the source. */
  read(offset: number, count: number): Uint8Array
}

const NEWLINE = 0x0a
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

export class Machine {
  /** The buffered part of the source, and its offset. */
  #window: Uint8Array = new Uint8Array()
  #view = new DataView(this.#window.buffer)
  #from = 0
  #at = 0
  readonly #stack: PickleValue[] = []
  readonly #marks: number[] = []
  readonly #memo = new Map<number, PickleValue>()

  /** @param refuse throws with a problem of the pickle */
  constructor(
    private readonly source: PickleSource,
    private readonly limits: PickleLimits,
    private readonly refuse: (problem: string) => never,
  ) {}

  fail(problem: string): never {
    return this.refuse(`${problem} (at byte ${this.#at}); none of it was executed`)
  }

  /** Offset in the window of the next `count` bytes. */
  #advance(count: number): number {
    this.#reach(count)
    let start = this.#at - this.#from
    if (start < 0 || start + count > this.#window.length) {
      this.#window = this.source.read(this.#at, count)
      this.#view = new DataView(this.#window.buffer, this.#window.byteOffset, this.#window.byteLength)
      this.#from = this.#at
      start = 0
    }
    this.#at += count
    return start
  }

  #reach(count: number): void {
    if (count > this.source.size - this.#at) this.fail('ends in the middle of an instruction')
  }

  /** Skips bytes of any length without reading them. */
  bytes(length: number): PickleBytes {
    this.#reach(length)
    const bytes = new PickleBytes(this.#at, length)
    this.#at += length
    return bytes
  }

  /** A value of `count` bytes. */
  #read<T>(count: number, get: (view: DataView, start: number) => T): T {
    const start = this.#advance(count)
    return get(this.#view, start)
  }

  u8(): number {
    return this.#read(1, (view, start) => view.getUint8(start))
  }
  u16(): number {
    return this.#read(2, (view, start) => view.getUint16(start, true))
  }
  u32(): number {
    return this.#read(4, (view, start) => view.getUint32(start, true))
  }
  i32(): number {
    return this.#read(4, (view, start) => view.getInt32(start, true))
  }
  f64(): number {
    return this.#read(8, (view, start) => view.getFloat64(start, false))
  }
  u64(): number {
    const value = this.#read(8, (view, start) => view.getBigUint64(start, true))
    return value > BigInt(Number.MAX_SAFE_INTEGER) ? this.fail(`has the length ${value}`) : Number(value)
  }

  text(length: number): string {
    const { stringBytes } = this.limits
    if (length > stringBytes) this.fail(`has a string of ${length} bytes, more than ${stringBytes}`)
    const start = this.#advance(length)
    return decoder.decode(this.#window.subarray(start, start + length))
  }

  line(): string {
    const start = this.#at
    const { stringBytes } = this.limits
    while (this.u8() !== NEWLINE) if (this.#at - start > stringBytes) this.fail(`has a string of more than ${stringBytes} bytes`)
    const length = this.#at - start - 1
    this.#at = start
    const text = this.text(length)
    this.#advance(1)
    return text
  }

  /** Python's LONG: little-endian two's complement. */
  long(length: number): number {
    if (length > this.limits.integerBytes) this.fail(`has an integer of ${length} bytes`)
    const start = this.#advance(length)
    let value = 0n
    for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(at(this.#window, start + i))
    const number = Number(BigInt.asIntN(8 * length, value))
    return Number.isSafeInteger(number) ? number : this.fail('has an integer beyond 2^53')
  }

  push(value: PickleValue): void {
    if (this.#stack.length >= this.limits.stack) this.fail(`nests deeper than ${this.limits.stack} values`)
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
    if (this.#marks.length >= this.limits.stack) this.fail(`nests deeper than ${this.limits.stack} marks`)
    this.#marks.push(this.#stack.length)
  }

  popToMark(): readonly PickleValue[] {
    const height = this.#marks.pop()
    return height === undefined ? this.fail('closes a mark that was never set') : this.#stack.splice(height)
  }

  memoize(key: number): void {
    if (this.#memo.size >= this.limits.memo) this.fail(`remembers more than ${this.limits.memo} values`)
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
    if (!(list instanceof PickleList)) return this.fail('appends to something other than a list')
    if (items.includes(list)) this.fail('has a list that contains itself')
    for (const item of items) list.items.push(item)
  }

  setItems(flat: readonly PickleValue[]): void {
    const dict = this.top()
    if (!(dict instanceof PickleDict)) return this.fail('sets items of something other than a dictionary')
    if (flat.length % 2 !== 0) this.fail('has a dictionary key without a value')
    if (flat.includes(dict)) this.fail('has a dictionary that contains itself')
    for (let i = 0; i < flat.length; i += 2) dict.entries.set(at(flat, i), at(flat, i + 1))
  }

  result(): PickleValue {
    const value = this.pop()
    if (this.#stack.length > 0 || this.#marks.length > 0) this.fail('leaves more than one value')
    return value
  }

  done(): boolean {
    return this.#at >= this.source.size
  }
}
