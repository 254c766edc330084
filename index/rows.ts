import { Field, FixedSizeList, Float16, makeData, RecordBatch, Schema, Struct, Table, Utf8, vectorFromArray, type Data } from 'apache-arrow'
import { IndexError } from './errors.ts'
import { writeHalves } from './half.ts'
import { contentHash } from './hash.ts'
import type { Passage } from './types.ts'

/** Type of the vector column: `dimension` float16 numbers. Half of float32's size at a recall within 0.005. */
export const vectorType = (dimension: number): FixedSizeList<Float16> => new FixedSizeList(dimension, new Field('item', new Float16(), true))

/** Columns that rows are written with, in the order of the table's migrations. */
const writeSchema = (dimension: number): Schema =>
  new Schema([
    new Field('id', new Utf8(), false),
    new Field('title', new Utf8(), false),
    new Field('text', new Utf8(), false),
    new Field('vector', vectorType(dimension), false),
    new Field('source', new Utf8(), true),
    new Field('hash', new Utf8(), true),
  ])

const utf8 = (values: readonly (string | null)[]): Data<Utf8> => {
  const data = vectorFromArray(values, new Utf8()).data[0]
  if (data === undefined) throw new IndexError('internal', 'An Arrow column came out empty. This is a bug.')
  return data
}

/** Passages with their vectors as float16 bit patterns, row after row. */
export interface Rows {
  readonly passages: readonly Passage[]
  /** passages.length x dimension. */
  readonly halves: Uint16Array
}

/**
 * Converts vectors to float16 rows, checking each: LanceDB pads, truncates and stores infinities without a word.
 * @throws IndexError index_invalid naming the passage whose vector has another length or a number that float16 cannot hold.
 */
export const packVectors = (passages: readonly Passage[], vectors: readonly Float32Array[], dimension: number, out = new Uint16Array(passages.length * dimension), firstRow = 0): Uint16Array => {
  if (vectors.length !== passages.length) {
    throw new IndexError('index_invalid', `The embedder returned ${vectors.length} vectors for ${passages.length} passages.`, 'vector')
  }
  for (const [i, vector] of vectors.entries()) {
    const id = passages[i]?.id ?? ''
    if (vector.length !== dimension) {
      throw new IndexError('index_invalid', `The vector of passage "${id}" has ${vector.length} numbers, the table's have ${dimension}: embed with the table's model.`, 'vector')
    }
    const bad = writeHalves(vector, out, (firstRow + i) * dimension)
    if (bad >= 0) {
      throw new IndexError('index_invalid', `The vector of passage "${id}" holds ${String(vector[bad])} at position ${bad}; numbers must be finite and at most 65504. Check the embedding model.`, 'vector')
    }
  }
  return out
}

/** One Arrow batch of rows. Never object rows: those are slow and LanceDB guesses their types. */
export const recordBatch = (rows: Rows, dimension: number): RecordBatch => {
  const schema = writeSchema(dimension)
  const { passages, halves } = rows
  const items = makeData({ type: new Float16(), length: halves.length, nullCount: 0, data: halves })
  const vectors = makeData({ type: vectorType(dimension), length: passages.length, nullCount: 0, child: items })
  const children = [
    utf8(passages.map((passage) => passage.id)),
    utf8(passages.map((passage) => passage.title)),
    utf8(passages.map((passage) => passage.text)),
    vectors,
    utf8(passages.map((passage) => passage.source ?? null)),
    utf8(passages.map(contentHash)),
  ]
  return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length: passages.length, nullCount: 0, children }))
}

export const arrowTable = (rows: Rows, dimension: number): Table => new Table([recordBatch(rows, dimension)])

/** A string column's value, '' where the column or value is missing. */
export const stringAt = (table: Table, column: string, row: number): string => {
  const value: unknown = table.getChild(column)?.get(row)
  return typeof value === 'string' ? value : ''
}

/** The passage in one row of a result. */
export const passageAt = (table: Table, row: number): Passage => {
  const source = stringAt(table, 'source', row)
  return {
    id: stringAt(table, 'id', row),
    title: stringAt(table, 'title', row),
    text: stringAt(table, 'text', row),
    ...(source === '' ? {} : { source }),
  }
}

/** Columns of a passage, for `select`. */
export const PASSAGE_COLUMNS = ['id', 'title', 'text', 'source'] as const
