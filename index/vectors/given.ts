import { open } from 'node:fs/promises'
import { at, present } from '../../base/at.ts'
import { halvesFinite, halvesSomeNonZero } from '../../base/binary16.ts'
import { eventLoopTurn } from '../../base/event-loop-turn.ts'
import { type CodedError, invalidCorpus, invalidIndex } from '../../base/errors.ts'
import { IdMap } from '../id-set.ts'
import { packVector, zeroVector } from '../table/rows.ts'
import { NUMBER_BYTES, type NumberType, type VectorSource } from './rows.ts'

/** A count with the first few ids. */
export interface Named {
  readonly count: number
  readonly examples: readonly string[]
}

const EXAMPLES = 3
/** Rows are numbered over all files, in 32 bits. */
const MOST_ROWS = 2 ** 32 - 1

/**
 * Reads the ids of all files; 16 to 24 bytes of memory per id.
 * @returns numbers of rows over all files, by id
 * @throws corpus_invalid for duplicate ids, or another number of ids than vectors
 */
async function rowsById(sources: readonly VectorSource[], signal: AbortSignal, onProgress: (ids: number) => void): Promise<IdMap> {
  const byId = new IdMap()
  const doubled: string[] = []
  let [rows, doubles] = [0, 0]
  const turn = eventLoopTurn()
  for (const source of sources) {
    const end = rows + source.rows
    if (end > MOST_ROWS) throw invalidCorpus('files', `There are ${end} vectors or more; at most ${MOST_ROWS} are read at once.`)
    for await (const id of source.ids()) {
      if (rows === end) throw miscounted(source, 'more')
      if (turn.isOver()) {
        await turn.next()
        signal.throwIfAborted()
        onProgress(rows)
      }
      if (!byId.add(id, rows)) {
        doubles++
        if (doubled.length < EXAMPLES) doubled.push(`"${id}" in ${fileOf(sources, present(byId.get(id)))} and ${source.name}`)
      }
      rows++
    }
    if (rows < end) throw miscounted(source, 'fewer')
  }
  const message = `${doubles} ids occur more than once in the vector files (${doubled.join(', ')}): a passage has one vector. Nothing was written.`
  if (doubles > 0) throw invalidCorpus('id', message)
  return byId
}

/** Name of the file that holds a row. */
function fileOf(sources: readonly VectorSource[], row: number): string {
  let end = 0
  return present(sources.find(({ rows }) => row < (end += rows))).name
}

/** Vectors of all files, found by the ids of their passages. @throws those of rowsById */
export async function readGiven(sources: readonly VectorSource[], signal: AbortSignal, onProgress: (ids: number) => void) {
  const byId = await rowsById(sources, signal, onProgress)
  /** By row: 1 if its passage is in the plan. */
  const used = new Uint8Array(sources.reduce((sum, { rows }) => sum + rows, 0))
  return {
    /** Returns the row of an id's vector and marks it as used; undefined if there is none. */
    use: (id: string): number | undefined => {
      const row = byId.get(id)
      if (row !== undefined) used[row] = 1
      return row
    },
    /** Vectors of passages as float16 [ids, dimension]. @throws index_invalid for numbers that are not finite or do not fit float16 */
    read: async (wanted: readonly { readonly id: string; readonly row: number | undefined }[], dimension: number) => {
      const out = new Uint16Array(wanted.length * dimension)
      const order = wanted.map(({ id, row }, to) => ({ id, row: present(row), to })).sort((a, b) => a.row - b.row)
      let start = 0
      for (const source of sources) {
        const inFile = order.filter(({ row }) => row >= start && row < start + source.rows)
        if (inFile.length > 0) await readRows(source, start, inFile, out)
        start += source.rows
      }
      return out
    },
    unused: async (): Promise<Named> => {
      const examples: string[] = []
      const count = used.reduce((sum, isUsed) => sum + 1 - isUsed, 0)
      let row = 0
      for (const source of count === 0 ? [] : sources) {
        for await (const id of source.ids()) {
          if (used[row++] === 0) examples.push(id)
          if (examples.length === Math.min(EXAMPLES, count)) return { count, examples }
        }
      }
      return { count, examples }
    },
  }
}

function miscounted({ name, rows }: VectorSource, what: string): CodedError {
  return invalidCorpus(name, `${name} has ${what} ids than its ${rows} vectors: each needs one.`)
}

interface WantedRow {
  readonly id: string
  /** Row over all files. */
  readonly row: number
  /** Row in the result. */
  readonly to: number
}

/** Rows of a file, in storage order; adjacent rows are read at once. */
async function readRows(source: VectorSource, start: number, wanted: readonly WantedRow[], out: Uint16Array): Promise<void> {
  const { path, dimension, offset, type } = source
  const bytes = dimension * NUMBER_BYTES[type]
  await using file = await open(path, 'r')
  for (let from = 0; from < wanted.length;) {
    const { row: first } = at(wanted, from)
    let to = from + 1
    while (wanted[to]?.row === first + to - from) to++
    const run = wanted.slice(from, to)
    const read = new Uint8Array(run.length * bytes)
    const { bytesRead } = await file.read(read, 0, read.length, offset + (first - start) * bytes)
    if (bytesRead !== read.length) throw invalidCorpus(source.name, `${source.name} became shorter while it was read.`)
    for (const [i, one] of run.entries()) take(source, { ...one, bytes: read.subarray(i * bytes, (i + 1) * bytes) }, out)
    from = to
  }
}

function take(
  { name, type, dimension }: VectorSource,
  { id, to, bytes }: WantedRow & { readonly bytes: Uint8Array },
  out: Uint16Array,
): void {
  if (type !== 'f16') return packVector({ id, vector: numbersOf(type, bytes) }, out, to, dimension)
  const halves = new Uint16Array(bytes.slice().buffer)
  if (!halvesFinite(halves)) throw invalidIndex('vector', `${name}: the vector of passage "${id}" holds numbers that are not finite.`)
  if (!halvesSomeNonZero(halves)) throw zeroVector(id)
  out.set(halves, to * dimension)
}

function numbersOf(type: Exclude<NumberType, 'f16'>, bytes: Uint8Array): Float32Array {
  const { buffer } = bytes.slice()
  return type === 'f32' ? new Float32Array(buffer) : Float32Array.from(new Float64Array(buffer))
}
