import { Field, FixedSizeList, Float16, makeData, RecordBatch, Schema, Struct, Table, Utf8, type Data } from 'apache-arrow'
import { CodedError } from '../../base/errors.ts'
import { writeHalves } from '../../base/binary16.ts'
import type { Passage } from '../contract.ts'

/** Type of the vector column: `dimension` float16 numbers. Half of float32's size at a recall within 0.005. */
function vectorType(dimension: number): FixedSizeList<Float16> {
  return new FixedSizeList(dimension, new Field('item', new Float16(), true))
}

/** Columns that rows are written with, in the order of the table's migrations. */
function writeSchema(dimension: number): Schema {
  return new Schema([
    new Field('id', new Utf8(), false),
    new Field('title', new Utf8(), false),
    new Field('text', new Utf8(), false),
    new Field('vector', vectorType(dimension), false),
    new Field('source', new Utf8(), true),
    new Field('hash', new Utf8(), true),
  ])
}

/** A string column, nullable without a value for null. Several times faster than Arrow's own builder. */
export function utf8(values: readonly (string | undefined)[]): Data<Utf8> {
  const valueOffsets = new Int32Array(values.length + 1)
  const nullBitmap = new Uint8Array(Math.ceil(values.length / 8))
  let [bytes, nullCount] = [0, 0]
  for (const [i, value] of values.entries()) {
    if (value === undefined) nullCount++
    else {
      bytes += Buffer.byteLength(value)
      nullBitmap[i >> 3] = (nullBitmap[i >> 3] as number) | (1 << (i & 7))
    }
    valueOffsets[i + 1] = bytes
  }
  const data = Buffer.allocUnsafe(bytes)
  for (const [i, value] of values.entries()) if (value !== undefined) data.write(value, valueOffsets[i] as number)
  return makeData({
    type: new Utf8(),
    length: values.length,
    nullCount,
    nullBitmap: nullCount === 0 ? null : nullBitmap,
    valueOffsets,
    data: Uint8Array.from(data),
  })
}

/** Passages with their vectors as float16 bit patterns, row after row. */
export interface Rows {
  readonly passages: readonly Passage[]
  /** Content hash of each passage. */
  readonly hashes: readonly string[]
  /** passages.length x dimension. */
  readonly halves: Uint16Array
}

/**
 * Writes a passage's vector as float16 into row `row` of `out`, checking it: LanceDB pads, truncates and stores infinities without a word.
 * @throws index_invalid naming the passage whose vector has another length or a number that float16 cannot hold.
 */
export function packVector(id: string, vector: Float32Array, out: Uint16Array, row: number, dimension: number): void {
  if (vector.length !== dimension) {
    throw new CodedError(
      'index_invalid',
      `The vector of passage "${id}" has ${vector.length} numbers, the table's have ${dimension}: embed with the table's model.`,
      { field: 'vector' },
    )
  }
  const bad = writeHalves(vector, out, row * dimension)
  if (bad >= 0) {
    throw new CodedError(
      'index_invalid',
      `The vector of passage "${id}" holds ${String(vector[bad])} at position ${bad}; numbers must be finite and at most 65504. Check the embedding model.`,
      { field: 'vector' },
    )
  }
}

/** @throws index_invalid unless there is one vector per passage. */
export function checkVectorCount(vectors: number, passages: number): void {
  if (vectors !== passages)
    throw new CodedError('index_invalid', `The embedder returned ${vectors} vectors for ${passages} passages.`, { field: 'vector' })
}

/** Vectors of passages as float16 rows; each is checked. */
export function packVectors(passages: readonly Passage[], vectors: readonly Float32Array[], dimension: number): Uint16Array {
  checkVectorCount(vectors.length, passages.length)
  const out = new Uint16Array(passages.length * dimension)
  for (const [i, vector] of vectors.entries()) packVector(passages[i]?.id ?? '', vector, out, i, dimension)
  return out
}

/** Bit patterns of the float16 vector in one row of a result. */
export function halvesAt(table: Columns, row: number): Uint16Array {
  const value = table.getChild('vector')?.get(row) as { readonly toArray?: () => unknown } | null | undefined
  const halves = value?.toArray?.()
  if (halves instanceof Uint16Array) return halves
  throw new CodedError('internal', `Row ${row} has no float16 vector. This is a bug.`)
}

/** One Arrow batch of rows. Never object rows: those are slow and LanceDB guesses their types. */
export function recordBatch(rows: Rows, dimension: number): RecordBatch {
  const schema = writeSchema(dimension)
  const { passages, hashes, halves } = rows
  const items = makeData({ type: new Float16(), length: halves.length, nullCount: 0, data: halves })
  const vectors = makeData({ type: vectorType(dimension), length: passages.length, nullCount: 0, child: items })
  const children = [
    utf8(passages.map((passage) => passage.id)),
    utf8(passages.map((passage) => passage.title)),
    utf8(passages.map((passage) => passage.text)),
    vectors,
    utf8(passages.map((passage) => passage.source)),
    utf8(hashes),
  ]
  return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length: passages.length, nullCount: 0, children }))
}

export function arrowTable(rows: Rows, dimension: number): Table {
  return new Table([recordBatch(rows, dimension)])
}

/** What is read of a result: an Arrow table or batch, whichever copy of Arrow it comes from. */
export interface Columns {
  readonly numRows: number
  getChild(name: string): { get(row: number): unknown } | null
}

/** A string column's value, '' where the column or value is missing. */
export function stringAt(table: Columns, column: string, row: number): string {
  const value: unknown = table.getChild(column)?.get(row)
  return typeof value === 'string' ? value : ''
}

/** The passage in one row of a result. */
export function passageAt(table: Columns, row: number): Passage {
  const source = stringAt(table, 'source', row)
  return {
    id: stringAt(table, 'id', row),
    title: stringAt(table, 'title', row),
    text: stringAt(table, 'text', row),
    ...(source === '' ? {} : { source }),
  }
}

/** Offsets of `count` rows spread evenly over a table of `rows` rows; of all of them if there are fewer. */
export function evenOffsets(rows: number, count: number): number[] {
  const taken = Math.min(count, rows)
  return Array.from({ length: taken }, (_, i) => Math.floor(((i + 0.5) * rows) / taken))
}
