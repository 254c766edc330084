import type { Data, FixedSizeList, Float16, Schema, Table } from 'apache-arrow'
import { at } from '../../base/at.ts'
import { halvesSomeNonZero, writeHalves } from '../../base/binary16.ts'
import { CodedError, invalidIndex } from '../../base/errors.ts'
import { DAMAGED } from '../../base/failures.ts'
import { arrow } from '../../migrations/arrow.ts'
import { base } from '../../migrations/list.ts'
import type { Passage } from '../contract.ts'
import { contentHash } from '../hash.ts'
import { metadataColumns, storedMetadata, utf8 } from './metadata-columns.ts'

/** Columns that {@link passagesOf} reads. */
export const PASSAGE_COLUMNS = ['id', 'title', 'text', 'source', 'metadata', 'hash'] as const

export const TEXT_COLUMNS = ['text', 'title'] as const

/** Passages with vectors as float16 bit patterns, row by row. */
export interface Rows {
  readonly passages: readonly Passage[]
  /** Content hash of each passage. */
  readonly hashes: readonly string[]
  /** passages.length x dimension. */
  readonly halves: Uint16Array
}

/** Selects the vectors of some rows. */
export function pickHalves(halves: Uint16Array, rows: readonly number[], dimension: number): Uint16Array {
  if (rows.length * dimension === halves.length) return halves
  const picked = new Uint16Array(rows.length * dimension)
  for (const [to, from] of rows.entries()) picked.set(halves.subarray(from * dimension, (from + 1) * dimension), to * dimension)
  return picked
}

/**
 * Writes a passage's vector as float16 into row `row` of `out` and validates it: LanceDB pads, truncates and stores infinities silently.
 * @throws index_invalid naming the passage whose vector has another length, is all zeros or does not fit float16
 */
export function packVector(
  { id, vector }: { readonly id: string; readonly vector: Float32Array },
  out: Uint16Array,
  row: number,
  dimension: number,
): void {
  if (vector.length !== dimension)
    throw invalidVector(
      `The vector of passage "${id}" has ${vector.length} numbers, the table's have ${dimension}: embed with the table's model.`,
    )
  const bad = writeHalves(vector, out, row * dimension)
  if (bad >= 0)
    throw invalidVector(
      `The vector of passage "${id}" holds ${String(vector[bad])} at position ${bad}; numbers must be finite and at most 65504. Check the embedding model.`,
    )
  // Also if float16 rounds all numbers to zero.
  if (!halvesSomeNonZero(out.subarray(row * dimension, (row + 1) * dimension))) throw zeroVector(id)
}

function invalidVector(message: string): CodedError {
  return invalidIndex('vector', message)
}

/** A zero vector has no direction: its score is 0 for every question. */
export function zeroVector(id: string): CodedError {
  return invalidVector(
    `The vector of passage "${id}" is all zeros, so that no question can find it. Check the embedding model, or the file that the vector is from.`,
  )
}

/** @throws index_invalid unless there is one vector per passage. */
export function checkVectorCount(vectors: number, passages: number): void {
  if (vectors !== passages) throw invalidVector(`The embedder returned ${vectors} vectors for ${passages} passages.`)
}

/** Packs vectors as float16 bits [passages, dimension]. @throws index_invalid for one of another size, not finite, or all zeros */
export function packVectors(passages: readonly Passage[], vectors: readonly Float32Array[], dimension: number): Uint16Array {
  checkVectorCount(vectors.length, passages.length)
  const out = new Uint16Array(passages.length * dimension)
  for (const [i, vector] of vectors.entries()) packVector({ id: at(passages, i).id, vector }, out, i, dimension)
  return out
}

/** Bit patterns of the float16 vectors of a result, by row. */
export function halvesOf(table: Columns): (row: number) => Uint16Array {
  const vectors = table.getChild('vector')
  return (row) => {
    const value = vectors?.get(row) as { readonly toArray?: () => unknown } | null | undefined
    const halves = value?.toArray?.()
    if (halves instanceof Uint16Array) return halves
    throw new CodedError('internal', `Row ${row} has no float16 vector. This is a bug.`)
  }
}

/** Rows as Arrow. Never object rows: those are slow, and LanceDB guesses their types. */
export function arrowTable({ passages, hashes, halves }: Rows, dimension: number): Table {
  const children = [
    utf8(passages.map((passage) => passage.id)),
    utf8(passages.map((passage) => passage.title)),
    utf8(passages.map((passage) => passage.text)),
    vectorColumn(halves, dimension),
    utf8(passages.map((passage) => passage.source)),
    utf8(hashes),
    ...metadataColumns(passages.map((passage) => passage.metadata)),
  ]
  return oneBatch(base.schema(dimension), passages.length, children)
}

/** A table of one batch. */
export function oneBatch(schema: Schema, length: number, children: Data[]): Table {
  const struct = arrow.makeData({ type: new arrow.Struct(schema.fields), length, nullCount: 0, children })
  return new arrow.Table([new arrow.RecordBatch(schema, struct)])
}

/** A column of float16 vectors. @param halves [rows, dimension] */
export function vectorColumn(halves: Uint16Array, dimension: number): Data<FixedSizeList<Float16>> {
  const type = new arrow.FixedSizeList(dimension, new arrow.Field('item', new arrow.Float16(), true))
  const child = arrow.makeData({ type: new arrow.Float16(), length: halves.length, nullCount: 0, data: halves })
  return arrow.makeData({ type, length: halves.length / dimension, nullCount: 0, child })
}

/** The subset of an Arrow table or batch that is used, of whichever copy of Arrow. */
export interface Columns {
  readonly numRows: number
  getChild(name: string): { get(row: number): unknown } | null
}

/** Accessor of a string column, looked up once: that takes longer than reading a value. A missing column or value is ''. */
export function stringsOf(table: Columns, column: string): (row: number) => string {
  const values = table.getChild(column)
  return (row) => {
    const value: unknown = values?.get(row)
    return typeof value === 'string' ? value : ''
  }
}

/** All values of a string column. */
export function stringsIn(table: Columns, column: string): string[] {
  const value = stringsOf(table, column)
  return Array.from({ length: table.numRows }, (_, row) => value(row))
}

/** Accessor of the passages of a result. @throws index_invalid for one that is not what was written */
export function passagesOf(table: Columns): (row: number) => Passage {
  const id = stringsOf(table, 'id')
  const title = stringsOf(table, 'title')
  const text = stringsOf(table, 'text')
  const sources = stringsOf(table, 'source')
  const metadatas = stringsOf(table, 'metadata')
  const hash = stringsOf(table, 'hash')
  return (row) => {
    const source = sources(row)
    const metadata = storedMetadata(metadatas(row))
    const passage = {
      id: id(row),
      title: title(row),
      text: text(row),
      ...(source === '' ? {} : { source }),
      ...(metadata === undefined ? {} : { metadata }),
    }
    if (contentHash(passage) === hash(row)) return passage
    throw invalidIndex('id', `The passage ${JSON.stringify(passage.id)} is not what was written. ${DAMAGED}`)
  }
}

/** All passages of a result. */
export function passagesIn(table: Columns): Passage[] {
  const passage = passagesOf(table)
  return Array.from({ length: table.numRows }, (_, row) => passage(row))
}
