import { invalid } from '../errors.ts'

/** Far above what a state dict of any size needs, far below what hurts. */
export const PICKLE_LIMITS = { bytes: 1 << 24, stack: 1 << 16, memo: 1 << 19, stringBytes: 1 << 12, integerBytes: 8 } as const

/** A name that the pickle refers to, `module.name`; never resolved to code. */
export class PickleGlobal {
  readonly path: string
  constructor(path: string) {
    this.path = path
  }
}

/** What a host's functions return, opaque to the reader. */
export abstract class PickleObject {
  abstract readonly kind: string
}

export class PickleTuple {
  readonly items: readonly PickleValue[]
  constructor(items: readonly PickleValue[]) {
    this.items = items
  }
}
export class PickleList {
  readonly items: PickleValue[] = []
}
export class PickleDict {
  readonly entries = new Map<PickleValue, PickleValue>()
}

export type PickleValue = null | boolean | number | string | PickleTuple | PickleList | PickleDict | PickleGlobal | PickleObject

/** The only things that a pickle can cause to happen. Each refuses by throwing. */
export interface PickleHost {
  /** Admits or refuses a global, when it is named. */
  admit(path: string): void
  /** Result of calling an admitted global. */
  call(path: string, args: readonly PickleValue[]): PickleValue
  /** The object behind a persistent id. */
  persistent(id: PickleValue): PickleValue
}

const printable = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text)

class Machine {
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

  u8(): number { return this.#view.getUint8(this.#advance(1)) }
  u16(): number { return this.#view.getUint16(this.#advance(2), true) }
  u32(): number { return this.#view.getUint32(this.#advance(4), true) }
  i32(): number { return this.#view.getInt32(this.#advance(4), true) }
  f64(): number { return this.#view.getFloat64(this.#advance(8), false) }
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
    for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.#bytes[start + i] ?? 0)
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
    for (let i = 0; i < flat.length; i += 2) dict.entries.set(flat[i] ?? null, flat[i + 1] ?? null)
  }

  /** End of the program: the one value left. */
  result(): PickleValue {
    const value = this.pop()
    if (this.#stack.length > 0 || this.#marks.length > 0) this.fail('leaves more than one value')
    return value
  }

  done(): boolean { return this.#at >= this.#bytes.length }
}

type Step = (machine: Machine, host: PickleHost) => void

const pushGlobal = (path: string): Step => (machine, host) => {
  host.admit(path)
  machine.push(new PickleGlobal(path))
}

const reduce: Step = (machine, host) => {
  const args = machine.pop()
  const callee = machine.pop()
  if (!(callee instanceof PickleGlobal) || !(args instanceof PickleTuple)) return machine.fail('calls something that is no known name')
  machine.push(host.call(callee.path, args.items))
}

/** Python attributes (a state dict's _metadata) carry no tensors: dropped. */
const build: Step = (machine) => {
  machine.pop()
  if (!(machine.top() instanceof PickleDict)) machine.fail('sets attributes of something that is no dictionary')
}

const stackGlobal: Step = (machine, host) => {
  const name = machine.pop()
  const module = machine.pop()
  if (typeof module !== 'string' || typeof name !== 'string') return machine.fail('names a global by something that is no string')
  pushGlobal(`${module}.${name}`)(machine, host)
}

/** The instructions that torch.save emits with protocols 2 to 4 (names and codes: Python's pickletools). STOP is the loop's. */
const STEPS: ReadonlyMap<number, Step> = new Map<number, Step>([
  [0x95, (m) => { m.u64() }], // FRAME: a read-ahead hint
  [0x63, (m, host) => { pushGlobal(`${m.line()}.${m.line()}`)(m, host) }], // GLOBAL
  [0x93, stackGlobal], // STACK_GLOBAL
  [0x52, reduce], // REDUCE
  [0x62, build], // BUILD
  [0x51, (m, host) => { m.push(host.persistent(m.pop())) }], // BINPERSID
  [0x71, (m) => { m.memoize(m.u8()) }], // BINPUT
  [0x72, (m) => { m.memoize(m.u32()) }], // LONG_BINPUT
  [0x94, (m) => { m.memoizeNext() }], // MEMOIZE
  [0x68, (m) => { m.push(m.recall(m.u8())) }], // BINGET
  [0x6a, (m) => { m.push(m.recall(m.u32())) }], // LONG_BINGET
  [0x4e, (m) => { m.push(null) }], // NONE
  [0x88, (m) => { m.push(true) }], // NEWTRUE
  [0x89, (m) => { m.push(false) }], // NEWFALSE
  [0x4b, (m) => { m.push(m.u8()) }], // BININT1
  [0x4d, (m) => { m.push(m.u16()) }], // BININT2
  [0x4a, (m) => { m.push(m.i32()) }], // BININT
  [0x8a, (m) => { m.push(m.long(m.u8())) }], // LONG1
  [0x47, (m) => { m.push(m.f64()) }], // BINFLOAT
  [0x8c, (m) => { m.push(m.text(m.u8())) }], // SHORT_BINUNICODE
  [0x58, (m) => { m.push(m.text(m.u32())) }], // BINUNICODE
  [0x28, (m) => { m.mark() }], // MARK
  [0x29, (m) => { m.push(new PickleTuple([])) }], // EMPTY_TUPLE
  [0x85, (m) => { m.push(new PickleTuple(m.popMany(1))) }], // TUPLE1
  [0x86, (m) => { m.push(new PickleTuple(m.popMany(2))) }], // TUPLE2
  [0x87, (m) => { m.push(new PickleTuple(m.popMany(3))) }], // TUPLE3
  [0x74, (m) => { m.push(new PickleTuple(m.popToMark())) }], // TUPLE
  [0x5d, (m) => { m.push(new PickleList()) }], // EMPTY_LIST
  [0x61, (m) => { m.append(m.popMany(1)) }], // APPEND
  [0x65, (m) => { m.append(m.popToMark()) }], // APPENDS
  [0x7d, (m) => { m.push(new PickleDict()) }], // EMPTY_DICT
  [0x73, (m) => { m.setItems(m.popMany(2)) }], // SETITEM
  [0x75, (m) => { m.setItems(m.popToMark()) }], // SETITEMS
])

const PROTO = 0x80
const STOP = 0x2e

/**
 * Reads a pickle without executing anything: data are built, names are refused unless the host admits them, and calls
 * are answered by the host. Values are never walked, so a cyclic pickle cannot trap it.
 * @param file names the source in messages
 * Errors: checkpoint_invalid for an unknown instruction, a damaged program or a limit passed.
 */
export const readPickle = (bytes: Uint8Array, host: PickleHost, file: string): PickleValue => {
  const machine = new Machine(bytes, file)
  if (bytes.length > PICKLE_LIMITS.bytes) machine.fail(`has ${bytes.length} bytes, more than ${PICKLE_LIMITS.bytes}`)
  if (machine.u8() !== PROTO) machine.fail('does not begin with a protocol number')
  const protocol = machine.u8()
  if (protocol < 2 || protocol > 4) machine.fail(`has protocol ${protocol}; 2 to 4 are read`)
  for (;;) {
    const code = machine.u8()
    if (code === STOP) break
    const step = STEPS.get(code)
    if (step === undefined) machine.fail(`has the instruction 0x${code.toString(16)}, which torch.save never writes`)
    else step(machine, host)
  }
  if (!machine.done()) machine.fail('goes on behind its end')
  return machine.result()
}

/** How a value reads in a message. */
export const describePickle = (value: PickleValue | undefined): string => {
  if (value instanceof PickleGlobal) return value.path
  if (value instanceof PickleObject) return value.kind
  if (value instanceof PickleTuple) return `a tuple of ${value.items.length}`
  if (value instanceof PickleList) return 'a list'
  if (value instanceof PickleDict) return 'a dictionary'
  return typeof value === 'string' ? printable(value) : String(value)
}
