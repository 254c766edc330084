import { Machine, PICKLE_LIMITS } from './pickle-machine.ts'
import { PickleDict, PickleGlobal, PickleList, PickleTuple, type PickleValue } from './pickle-values.ts'

/** The only things that a pickle can cause to happen. Each refuses by throwing. */
export interface PickleHost {
  /** Admits or refuses a global, when it is named. */
  admit(path: string): void
  /** Result of calling an admitted global. */
  call(path: string, args: readonly PickleValue[]): PickleValue
  /** The object behind a persistent id. */
  persistent(id: PickleValue): PickleValue
}

type Step = (machine: Machine, host: PickleHost) => void

function pushGlobal(path: string): Step {
  return (machine, host) => {
    host.admit(path)
    machine.push(new PickleGlobal(path))
  }
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
 * Reads a pickle without executing anything: data are built, names are refused unless the host admits them, and calls
 * are answered by the host. Values are never walked, so a cyclic pickle cannot trap it.
 * @param file names the source in messages
 * @throws checkpoint_invalid for an unknown instruction, a damaged program or a limit passed.
 */
export function readPickle(bytes: Uint8Array, host: PickleHost, file: string): PickleValue {
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
