import { Machine, PICKLE_LIMITS, type PickleLimits, type PickleSource } from './machine.ts'
import { PickleDict, PickleGlobal, PickleList, PickleObject, PickleTuple, type PickleValue } from './values.ts'

/** The only effects that a pickle can have. Each rejects by throwing. */
export interface PickleHost {
  /** Throws with a problem of the pickle: "ends in the middle of ...". */
  fail(problem: string): never
  /** Allows or rejects a global by name. */
  admit(path: string): void
  /** Result of calling an allowed global. */
  call(path: string, args: readonly PickleValue[]): PickleValue
  /** The object behind a persistent id. */
  persistent(id: PickleValue): PickleValue
  /** Sets the state of an object that `call` returned. Without it such states are rejected. */
  build?(target: PickleObject, state: PickleValue): void
}

type Instruction = (machine: Machine, host: PickleHost) => void

function pushGlobal(path: string): Instruction {
  return (machine, host) => {
    host.admit(path)
    machine.push(new PickleGlobal(path))
  }
}

const reduce: Instruction = (machine, host) => {
  const args = machine.pop()
  const callee = machine.pop()
  if (!(callee instanceof PickleGlobal) || !(args instanceof PickleTuple)) return machine.fail('calls an unknown name')
  machine.push(host.call(callee.path, args.items))
}

/** Python attributes of a dictionary (a state dict's _metadata) carry no data: dropped. */
const build: Instruction = (machine, host) => {
  const state = machine.pop()
  const target = machine.top()
  if (target instanceof PickleObject && host.build !== undefined) host.build(target, state)
  else if (!(target instanceof PickleDict)) machine.fail('sets attributes of something other than a dictionary')
}

const stackGlobal: Instruction = (machine, host) => {
  const name = machine.pop()
  const module = machine.pop()
  if (typeof module !== 'string' || typeof name !== 'string') return machine.fail('names a global by something other than a string')
  pushGlobal(`${module}.${name}`)(machine, host)
}

/** Opcodes of torch.save and pickled numpy arrays, protocols 2 to 5 (Python's pickletools); the loop handles STOP. */
const INSTRUCTIONS: ReadonlyMap<number, Instruction> = new Map<number, Instruction>([
  [0x95, (m) => m.u64()], // FRAME: a read-ahead hint
  [0x63, (m, host) => pushGlobal(`${m.line()}.${m.line()}`)(m, host)], // GLOBAL
  [0x93, stackGlobal], // STACK_GLOBAL
  [0x52, reduce], // REDUCE
  [0x62, build], // BUILD
  [0x51, (m, host) => m.push(host.persistent(m.pop()))], // BINPERSID
  [0x71, (m) => m.memoize(m.u8())], // BINPUT
  [0x72, (m) => m.memoize(m.u32())], // LONG_BINPUT
  [0x94, (m) => m.memoizeNext()], // MEMOIZE
  [0x68, (m) => m.push(m.recall(m.u8()))], // BINGET
  [0x6a, (m) => m.push(m.recall(m.u32()))], // LONG_BINGET
  [0x4e, (m) => m.push(null)], // NONE
  [0x88, (m) => m.push(true)], // NEWTRUE
  [0x89, (m) => m.push(false)], // NEWFALSE
  [0x4b, (m) => m.push(m.u8())], // BININT1
  [0x4d, (m) => m.push(m.u16())], // BININT2
  [0x4a, (m) => m.push(m.i32())], // BININT
  [0x8a, (m) => m.push(m.long(m.u8()))], // LONG1
  [0x47, (m) => m.push(m.f64())], // BINFLOAT
  [0x8c, (m) => m.push(m.text(m.u8()))], // SHORT_BINUNICODE
  [0x58, (m) => m.push(m.text(m.u32()))], // BINUNICODE
  [0x43, (m) => m.push(m.bytes(m.u8()))], // SHORT_BINBYTES
  [0x42, (m) => m.push(m.bytes(m.u32()))], // BINBYTES
  [0x8e, (m) => m.push(m.bytes(m.u64()))], // BINBYTES8
  [0x96, (m) => m.push(m.bytes(m.u64()))], // BYTEARRAY8
  [0x28, (m) => m.mark()], // MARK
  [0x29, (m) => m.push(new PickleTuple([]))], // EMPTY_TUPLE
  [0x85, (m) => m.push(new PickleTuple(m.popMany(1)))], // TUPLE1
  [0x86, (m) => m.push(new PickleTuple(m.popMany(2)))], // TUPLE2
  [0x87, (m) => m.push(new PickleTuple(m.popMany(3)))], // TUPLE3
  [0x74, (m) => m.push(new PickleTuple(m.popToMark()))], // TUPLE
  [0x5d, (m) => m.push(new PickleList())], // EMPTY_LIST
  [0x61, (m) => m.append(m.popMany(1))], // APPEND
  [0x65, (m) => m.append(m.popToMark())], // APPENDS
  [0x7d, (m) => m.push(new PickleDict())], // EMPTY_DICT
  [0x73, (m) => m.setItems(m.popMany(2))], // SETITEM
  [0x75, (m) => m.setItems(m.popToMark())], // SETITEMS
])

const PROTO = 0x80
const STOP = 0x2e

/**
 * Reads a pickle without executing anything: data is built, names are rejected unless the host allows them, and calls are handled by the
 * host. Values are never traversed, so cycles are safe.
 * @throws errors of the host; for an unknown opcode, a damaged program or an exceeded limit
 */
export function readPickle(source: PickleSource, host: PickleHost, limits: PickleLimits = PICKLE_LIMITS): PickleValue {
  const machine = new Machine(source, limits, (problem) => host.fail(problem))
  if (source.size > limits.bytes) machine.fail(`has ${source.size} bytes, more than ${limits.bytes}`)
  if (machine.u8() !== PROTO) machine.fail('does not begin with a protocol number')
  const protocol = machine.u8()
  if (protocol < 2 || protocol > limits.protocol) machine.fail(`has protocol ${protocol}; 2 to ${limits.protocol} are read`)
  for (;;) {
    const code = machine.u8()
    if (code === STOP) break
    const instruction = INSTRUCTIONS.get(code)
    if (instruction === undefined) machine.fail(`has the instruction 0x${code.toString(16)}, which nothing that is read here needs`)
    else instruction(machine, host)
  }
  if (!machine.done()) machine.fail('has data after its end')
  return machine.result()
}
