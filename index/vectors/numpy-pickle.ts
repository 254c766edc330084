import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import { at } from '../../base/at.ts'
import { PICKLE_LIMITS, type PickleLimits, type PickleSource } from '../../base/pickle/machine.ts'
import { type PickleHost, readPickle } from '../../base/pickle/read.ts'
import {
  describePickle,
  PickleBytes,
  PickleGlobal,
  PickleList,
  PickleObject,
  PickleTuple,
  type PickleValue,
} from '../../base/pickle/values.ts'
import { eventLoopTurn } from '../../base/event-loop-turn.ts'
import { checkedId, type Matrix, NUMBER_BYTES, numberType, READ_ARRAYS, refuse, type VectorSource } from './rows.ts'

/** A numpy array of fixed-width strings (`<U8`) in a file: four bytes per character, padded with zeros. */
interface StringArray {
  readonly count: number
  /** Characters per string. */
  readonly width: number
  readonly isLittleEndian: boolean
  /** Byte offset of its first character. */
  readonly offset: number
}

const CHARACTER_BYTES = 4
const BLOCK_BYTES = 1 << 18
/** Far above the longest id. */
const MOST_WIDTH = 1 << 12

/** Reads all strings of an array, without padding. @throws corpus_invalid for an invalid code point */
function readStrings({ count, width, isLittleEndian, offset }: StringArray, source: PickleSource, name: string): string[] {
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
      try {
        found.push(String.fromCodePoint(...points.slice(0, length)))
      } catch (error) {
        refuse(name, 'has ids that are no text', error)
      }
    }
  }
  return found
}

export const PICKLE_PROTO = 0x80

/** Ids are kept in memory, numbers are not: eight million ids take about a gigabyte while the file is read. */
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
  /** `<` little-endian, `>` big-endian, `|` not applicable. */
  order = '<'
  constructor(readonly name: string) {
    super()
  }
}

class NumpyArray extends PickleObject {
  readonly kind = 'a numpy array'
  content: Content | undefined
}

/** Numbers, or possible ids: fixed-width strings in the file, or Python strings. */
type Content = { readonly matrix: Matrix } | { readonly strings: StringArray } | { readonly objects: readonly PickleValue[] }

function numpyHost(name: string): PickleHost {
  const fail = (what: string): never => refuse(name, what)
  return {
    fail: (problem) => fail(`cannot be read: the pickle ${problem}`),
    admit: (path) => {
      if (path === '_codecs.encode') fail('was pickled with protocol 2: write it with protocol=4')
      if (!ADMITTED.includes(path))
        fail(`names ${JSON.stringify(path.slice(0, 200))}, which does not belong to a list of ids and an array; none of it was executed`)
    },
    call: (path, args) => {
      const [first, second, third, fourth] = args
      if (path === DTYPE && typeof first === 'string') return new NumpyType(first)
      if (RECONSTRUCT.includes(path) && first instanceof PickleGlobal && first.path === NDARRAY) return new NumpyArray()
      if (FROM_BUFFER.includes(path)) {
        const array = new NumpyArray()
        array.content = contentOf({ bytes: first, type: second, shape: third, rowMajor: fourth === 'C' }, fail)
        return array
      }
      return fail(`calls ${path} with ${args.map(describePickle).join(', ')}; none of it was executed`)
    },
    persistent: () => fail('refers to something outside of it'),
    build: (target, state) => {
      const items = state instanceof PickleTuple ? state.items : []
      if (target instanceof NumpyType) target.order = typeof items[1] === 'string' ? items[1] : ''
      else if (target instanceof NumpyArray)
        target.content = contentOf({ bytes: items[4], type: items[2], shape: items[1], rowMajor: items[3] === false }, fail)
    },
  }
}

type Described = Readonly<Record<'bytes' | 'type' | 'shape', PickleValue | undefined>> & { readonly rowMajor: boolean }

const READ_IDS = 'ids are read as a list, or as a one-dimensional array of strings (numpy.array(ids, dtype=str))'

function contentOf(described: Described, fail: (what: string) => never): Content {
  const { bytes, type, shape } = described
  const sizes = shape instanceof PickleTuple ? shape.items : []
  const [count] = sizes
  if (!(type instanceof NumpyType) || sizes.length !== 1 || typeof count !== 'number') return { matrix: matrixOf(described, fail) }
  if (type.name === 'O8' && bytes instanceof PickleList) return { objects: bytes.items }
  // Characters of each string (`U8`); NaN for any other type.
  const width = Number(/^U(\d+)$/.exec(type.name)?.[1])
  if (width > 0 && width <= MOST_WIDTH && bytes instanceof PickleBytes && bytes.length === count * width * CHARACTER_BYTES)
    return { strings: { count, width, isLittleEndian: type.order !== '>', offset: bytes.offset } }
  if (/^[iuSU]\d+$/.test(type.name)) return fail(`holds an array of ${type.order}${type.name} [${count}]: ${READ_IDS}`)
  return { matrix: matrixOf(described, fail) }
}

function matrixOf({ bytes, type, shape, rowMajor }: Described, fail: (what: string) => never): Matrix {
  const [rows, dimension, ...more] = shape instanceof PickleTuple ? shape.items : []
  const numbers = type instanceof NumpyType && type.order !== '>' ? numberType(type.name) : undefined
  if (!(bytes instanceof PickleBytes) || numbers === undefined || !rowMajor || !isCount(rows) || !isCount(dimension) || more.length > 0) {
    const found = type instanceof NumpyType ? `${type.order}${type.name}` : describePickle(type)
    const sizes = shape instanceof PickleTuple ? shape.items.map(describePickle).join(', ') : describePickle(shape)
    return fail(`holds an array of ${found} [${sizes}]${rowMajor ? '' : ', column after column'}: ${READ_ARRAYS}`)
  }
  if (bytes.length !== rows * dimension * NUMBER_BYTES[numbers])
    return fail(`has ${bytes.length} bytes for an array of ${rows} times ${dimension} numbers of ${NUMBER_BYTES[numbers]} bytes`)
  return { type: numbers, rows, dimension, offset: bytes.offset }
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

/** Reads ids of an array from the file if `wantsIds` returns true. */
function readFile(path: string, wantsIds: boolean): { readonly ids: readonly PickleValue[]; readonly matrix: Matrix } {
  const name = basename(path)
  const descriptor = openSync(path, 'r')
  try {
    const source = fileSource(descriptor, name)
    const value = readPickle(source, numpyHost(name), LIMITS)
    const items = value instanceof PickleTuple || value instanceof PickleList ? value.items : []
    const [ids, array] = items
    const found = value instanceof PickleTuple ? `(${items.map(describePickle).join(', ')})` : describePickle(value)
    const content = array instanceof NumpyArray ? array.content : undefined
    const listed = ids instanceof PickleList ? { objects: ids.items } : ids instanceof NumpyArray ? ids.content : undefined
    if (items.length !== 2 || listed === undefined || 'matrix' in listed || content === undefined || !('matrix' in content))
      return refuse(name, `holds ${found} in place of ids and an array of their vectors: ${READ_IDS}`)
    const { matrix } = content
    const count = 'objects' in listed ? listed.objects.length : listed.strings.count
    if (count !== matrix.rows) return refuse(name, `has ${count} ids for ${matrix.rows} vectors`)
    return { ids: 'objects' in listed ? listed.objects : wantsIds ? readStrings(listed.strings, source, name) : [], matrix }
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Opens a pickle of ids (a list, or a numpy array of strings) and a numpy array, as Contriever's `generate_passage_embeddings.py` writes
 * them (`passages_00` ...). Nothing in it is executed; the numbers stay in the file.
 * @throws corpus_invalid
 */
export function openNumpyPickle(path: string): VectorSource {
  const name = basename(path)
  return { ...readFile(path, false).matrix, name, path, ids: () => idsOf(path) }
}

async function* idsOf(path: string): AsyncGenerator<string> {
  const { ids } = readFile(path, true)
  const turn = eventLoopTurn()
  for (let row = 0; row < ids.length; row++) {
    if (turn.isOver()) await turn.next()
    yield checkedId(at(ids, row), basename(path), `row ${row}`)
  }
}
