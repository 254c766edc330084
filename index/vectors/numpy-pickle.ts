import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import { at } from '../../base/at.ts'
import { eventLoopYielder } from '../../base/yield-to-event-loop.ts'
import { PICKLE_LIMITS, type PickleLimits, type PickleSource } from '../../base/pickle/machine.ts'
import { readPickle, type PickleHost } from '../../base/pickle/read.ts'
import {
  describePickle,
  PickleBytes,
  PickleGlobal,
  PickleList,
  PickleObject,
  PickleTuple,
  type PickleValue,
} from '../../base/pickle/values.ts'
import { checkedId } from './ids.ts'
import { NUMBER_BYTES, numberType, READ_ARRAYS, refuse, type Matrix, type NumberType, type VectorSource } from './contract.ts'

export const PICKLE_PROTO = 0x80

/** The ids of a file are remembered, its numbers are not: eight million of them take about a gigabyte while the file is read. */
const LIMITS: PickleLimits = { ...PICKLE_LIMITS, bytes: Infinity, memo: 1 << 23, protocol: 5 }
const WINDOW_BYTES = 1 << 20

/** Names of numpy 1 and 2. */
const RECONSTRUCT = ['numpy.core.multiarray._reconstruct', 'numpy._core.multiarray._reconstruct']
const FROM_BUFFER = ['numpy.core.numeric._frombuffer', 'numpy._core.numeric._frombuffer']
const NDARRAY = 'numpy.ndarray'
const DTYPE = 'numpy.dtype'
const ADMITTED: readonly string[] = [...RECONSTRUCT, ...FROM_BUFFER, NDARRAY, DTYPE]

class NumpyType extends PickleObject {
  readonly kind = 'a numpy type'
  readonly name: string
  /** `<` little, `>` big, `|` where it does not matter. */
  order = '<'
  constructor(name: string) {
    super()
    this.name = name
  }
}

class NumpyArray extends PickleObject {
  readonly kind = 'a numpy array'
  matrix: Matrix | undefined
}

function numpyHost(name: string): PickleHost {
  const fail = (what: string): never => refuse(name, what)
  return {
    fail: (problem) => fail(`cannot be read: the pickle ${problem}`),
    admit: (path) => {
      if (path === '_codecs.encode') fail('was pickled with protocol 2: write it with protocol=4')
      if (!ADMITTED.includes(path))
        fail(`names ${JSON.stringify(path.slice(0, 200))}, which is no part of a list of ids and an array; nothing of it was executed`)
    },
    call: (path, args) => {
      const [first, second, third, fourth] = args
      if (path === DTYPE && typeof first === 'string') return new NumpyType(first)
      if (RECONSTRUCT.includes(path) && first instanceof PickleGlobal && first.path === NDARRAY) return new NumpyArray()
      if (FROM_BUFFER.includes(path)) {
        const array = new NumpyArray()
        array.matrix = matrixOf({ bytes: first, type: second, shape: third, rowMajor: fourth === 'C' }, fail)
        return array
      }
      return fail(`calls ${path} with ${args.map(describePickle).join(', ')}; nothing of it was executed`)
    },
    persistent: () => fail('refers to something outside of it'),
    build: (target, state) => {
      const items = state instanceof PickleTuple ? state.items : []
      if (target instanceof NumpyType) target.order = typeof items[1] === 'string' ? items[1] : ''
      else if (target instanceof NumpyArray)
        target.matrix = matrixOf({ bytes: items[4], type: items[2], shape: items[1], rowMajor: items[3] === false }, fail)
    },
  }
}

interface Described {
  readonly bytes: PickleValue | undefined
  readonly type: PickleValue | undefined
  readonly shape: PickleValue | undefined
  readonly rowMajor: boolean
}

function matrixOf({ bytes, type, shape, rowMajor }: Described, fail: (what: string) => never): Matrix {
  const [rows, dimension, ...more] = shape instanceof PickleTuple ? shape.items : []
  const numbers = type instanceof NumpyType ? typeOf(type) : undefined
  if (!(bytes instanceof PickleBytes) || numbers === undefined || !rowMajor || !isCount(rows) || !isCount(dimension) || more.length > 0) {
    const found = type instanceof NumpyType ? `${type.order}${type.name}` : describePickle(type)
    const sizes = shape instanceof PickleTuple ? shape.items.map(describePickle).join(', ') : describePickle(shape)
    return fail(`holds an array of ${found} [${sizes}]${rowMajor ? '' : ', column after column'}: ${READ_ARRAYS}`)
  }
  if (bytes.length !== rows * dimension * NUMBER_BYTES[numbers])
    return fail(`has ${bytes.length} bytes for an array of ${rows} times ${dimension} numbers of ${NUMBER_BYTES[numbers]} bytes`)
  return { type: numbers, rows, dimension, offset: bytes.offset }
}

function typeOf({ name, order }: NumpyType): NumberType | undefined {
  return order === '>' ? undefined : numberType(name)
}

function isCount(value: PickleValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}

/** Reads through a window, so that a file of gigabytes is never in memory. */
function fileSource(descriptor: number, name: string): PickleSource {
  const window = Buffer.alloc(WINDOW_BYTES)
  return {
    size: fstatSync(descriptor).size,
    read: (offset, count) => {
      let read = 0
      while (read < count) {
        const more = readSync(descriptor, window, read, WINDOW_BYTES - read, offset + read)
        if (more === 0) refuse(name, 'became shorter while it was read')
        read += more
      }
      return window.subarray(0, read)
    },
  }
}

function readFile(path: string): { readonly ids: readonly PickleValue[]; readonly matrix: Matrix } {
  const name = basename(path)
  const descriptor = openSync(path, 'r')
  try {
    const value = readPickle(fileSource(descriptor, name), numpyHost(name), LIMITS)
    const items = value instanceof PickleTuple || value instanceof PickleList ? value.items : []
    const [ids, array] = items
    if (items.length !== 2 || !(ids instanceof PickleList) || !(array instanceof NumpyArray) || array.matrix === undefined)
      return refuse(name, `holds ${describe(value)} in place of a list of ids and an array of their vectors`)
    const { matrix } = array
    if (ids.items.length !== matrix.rows) return refuse(name, `has ${ids.items.length} ids for ${matrix.rows} vectors`)
    return { ids: ids.items, matrix }
  } finally {
    closeSync(descriptor)
  }
}

function describe(value: PickleValue): string {
  return value instanceof PickleTuple ? `(${value.items.map(describePickle).join(', ')})` : describePickle(value)
}

/**
 * The vectors of a pickle of a list of ids and a numpy array, as Contriever's `generate_passage_embeddings.py` writes
 * them (`passages_00` ...). Nothing of it is executed; the numbers stay in the file.
 * @throws corpus_invalid
 */
export function openNumpyPickle(path: string): VectorSource {
  const name = basename(path)
  return { ...readFile(path).matrix, name, path, ids: () => idsOf(path) }
}

async function* idsOf(path: string): AsyncGenerator<string> {
  const { ids } = readFile(path)
  const yieldToEventLoop = eventLoopYielder()
  for (let row = 0; row < ids.length; row++) {
    const pause = yieldToEventLoop()
    if (pause !== undefined) await pause
    yield checkedId(at(ids, row), basename(path), `row ${row}`)
  }
}
