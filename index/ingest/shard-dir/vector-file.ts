import { webcrypto } from 'node:crypto'
import { open } from 'node:fs/promises'
import {
  Field,
  FixedSizeList,
  Float16,
  makeData,
  RecordBatch,
  RecordBatchReader,
  Schema,
  Struct,
  Table,
  tableFromIPC,
  tableToIPC,
  Utf8,
} from 'apache-arrow'
import { at } from '../../../base/at.ts'
import { halvesFinite } from '../../../base/binary16.ts'
import { writeFileDurably } from '../../../base/durable.ts'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { sumFingerprints } from '../../hash.ts'
import { stringsOf } from '../../table/rows.ts'
import { utf8 } from '../../table/metadata-columns.ts'
import type { PlannedRow } from '../plan/plan.ts'

/** Vectors are stored as float16, as in the table. */
export const VECTOR_PRECISION = 'f16'

/** Expected identity of a vector file. */
export interface VectorFileOf {
  /** Id of the embedding model. */
  readonly model: string
  readonly dimension: number
  /** Number of the shard in its plan. */
  readonly shard: number
  readonly rows: number
  /** Digest of the shard's ids and contents. */
  readonly digest: string
}

const PREFIX = 'cepe:'
function said({ model, dimension, shard, rows, digest }: VectorFileOf): Map<string, string> {
  const values = { model, precision: VECTOR_PRECISION, dimension, shard, rows, digest }
  return new Map(Object.entries(values).map(([key, value]) => [PREFIX + key, String(value)]))
}

/**
 * Writes the vectors of a shard as an Arrow IPC file with the columns `id`, `hash` and `vector`, atomically and durably. Its identity and
 * the SHA-256 of all vectors are in the schema's metadata.
 * @param halves [rows, dimension]
 */
export async function writeVectorFile(path: string, of: VectorFileOf, rows: readonly PlannedRow[], halves: Uint16Array): Promise<void> {
  const vector = new FixedSizeList(of.dimension, new Field('item', new Float16(), true))
  const metadata = said(of).set(`${PREFIX}sha256`, await sha256(halves))
  const fields = [new Field('id', new Utf8(), false), new Field('hash', new Utf8(), false), new Field('vector', vector, false)]
  const schema = new Schema(fields, metadata)
  const items = makeData({ type: new Float16(), length: halves.length, nullCount: 0, data: halves })
  const children = [
    utf8(rows.map(({ passage }) => passage.id)),
    utf8(rows.map(({ hash }) => hash)),
    makeData({ type: vector, length: rows.length, nullCount: 0, child: items }),
  ]
  const batch = new RecordBatch(schema, makeData({ type: new Struct(fields), length: rows.length, nullCount: 0, children }))
  await writeFileDurably(path, tableToIPC(new Table([batch]), 'file'))
}

/** Returns why the file's metadata does not match the shard; undefined if it does. @throws ENOENT */
export async function foreignVectors(path: string, of: VectorFileOf): Promise<string | undefined> {
  const file = await open(path, 'r')
  try {
    // Both are promises for a file handle, whatever the types state; only the end of the file is read.
    const reader = await Promise.resolve(RecordBatchReader.from(file))
    const { schema } = await Promise.resolve(reader.open())
    return differs(schema.metadata, of)
  } catch {
    return 'is not a complete Arrow file'
  } finally {
    await file.close()
  }
}

/** As {@link foreignVectors}, but reads the whole file and also checks ids, content hashes and vectors. */
export async function unsoundVectors(path: string, of: VectorFileOf): Promise<string | undefined> {
  const foreign = await foreignVectors(path, of)
  if (foreign !== undefined) return foreign
  try {
    const table = tableFromIPC(await readWhole(path))
    const [ids, hashes] = [stringsOf(table, 'id'), stringsOf(table, 'hash')]
    const rows = Array.from({ length: table.numRows }, (_, row) => ({ id: ids(row), hash: hashes(row) }))
    if (sumFingerprints(rows) !== of.digest) return 'is damaged: its passages are not those of the shard'
    return await unsound(table, of)
  } catch (error) {
    return `is damaged: it cannot be read (${messageOf(error)})`
  }
}

/** Returns why a file's vectors cannot be used; undefined if they can. */
async function unsound(table: Table, of: VectorFileOf): Promise<string | undefined> {
  const halves = halvesOf(table)
  if (halves?.length !== of.rows * of.dimension || table.numRows !== of.rows)
    return 'does not hold one vector for each passage of the shard'
  if ((await sha256(halves)) !== table.schema.metadata.get(`${PREFIX}sha256`))
    return 'is damaged: its vectors are not those that were written'
  return halvesFinite(halves) ? undefined : 'holds numbers that are not finite'
}

function halvesOf(table: Table): Uint16Array | undefined {
  const halves: unknown = table.getChild('vector')?.data[0]?.children[0]?.values
  return halves instanceof Uint16Array ? halves : undefined
}

/**
 * Reads the vectors of a planned shard, float16 [rows, dimension], and checks every id, content hash and number.
 * @throws index_invalid naming the shard and the problem
 */
export async function readVectorFile(path: string, of: VectorFileOf, rows: readonly PlannedRow[]): Promise<Uint16Array> {
  const refuse = (what: string): CodedError =>
    new CodedError(
      'index_invalid',
      `The vectors of shard ${of.shard} cannot be used: ${path} ${what}. Remove it and embed the shard again.`,
      {
        field: path,
      },
    )
  let table: Table
  try {
    table = tableFromIPC(await readWhole(path))
  } catch (error) {
    throw refuse(`cannot be read (${messageOf(error)})`)
  }
  const difference = differs(table.schema.metadata, of)
  if (difference !== undefined) throw refuse(difference)
  const halves = halvesOf(table)
  if (halves === undefined || table.numRows !== rows.length) throw refuse('does not hold one vector for each passage of the shard')
  const other = otherPassage(table, rows)
  if (other !== undefined) throw refuse(`has another passage than "${at(rows, other).passage.id}" in row ${other}`)
  const why = await unsound(table, of)
  if (why !== undefined) throw refuse(why)
  return halves
}

/** Returns the first row that differs from the planned passage; undefined if none does. */
function otherPassage(table: Table, rows: readonly PlannedRow[]): number | undefined {
  const [plannedIds, plannedHashes] = [rows.map(({ passage }) => passage.id), rows.map(({ hash }) => hash)]
  // Compared as bytes: creating strings takes longer than all other checks.
  if (isColumn(table, 'id', plannedIds) && isColumn(table, 'hash', plannedHashes)) return undefined
  const [ids, hashes] = [stringsOf(table, 'id'), stringsOf(table, 'hash')]
  const row = rows.findIndex(({ passage, hash }, row) => ids(row) !== passage.id || hashes(row) !== hash)
  return row < 0 ? undefined : row
}

/** True if a column's buffers are exactly those that the strings would be encoded to; other buffers may hold equal strings. */
function isColumn(table: Table, name: string, strings: readonly string[]): boolean {
  const found = table.getChild(name)?.data[0]
  const wanted = utf8(strings)
  if (found?.nullCount !== 0 || !(found.values instanceof Uint8Array) || !(found.valueOffsets instanceof Int32Array)) return false
  return (
    found.values.length === wanted.values.length &&
    sameBytes(found.values, wanted.values) &&
    sameBytes(found.valueOffsets, wanted.valueOffsets)
  )
}

function sameBytes(a: Uint8Array | Int32Array, b: Uint8Array | Int32Array): boolean {
  return Buffer.compare(bytesOf(a), bytesOf(b)) === 0
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** Reads a file at once: Node reads half a megabyte at a time. */
async function readWhole(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r')
  try {
    const bytes = Buffer.allocUnsafeSlow((await file.stat()).size)
    const { bytesRead } = await file.read(bytes, 0, bytes.length)
    return bytesRead === bytes.length ? bytes : await file.readFile()
  } finally {
    await file.close()
  }
}

function differs(metadata: ReadonlyMap<string, string>, of: VectorFileOf): string | undefined {
  for (const [key, wanted] of said(of)) {
    const found = metadata.get(key)
    if (found !== wanted) return `has ${key.slice(PREFIX.length)} ${found?.slice(0, 80) ?? 'unknown'} in place of ${wanted}`
  }
  return undefined
}

/** Computed off the event loop: a shard takes too long for one turn of it. */
async function sha256({ buffer, byteOffset, byteLength }: Uint16Array): Promise<string> {
  return Buffer.from(
    await webcrypto.subtle.digest('SHA-256', new Uint8Array(buffer, byteOffset, byteLength) as Uint8Array<ArrayBuffer>),
  ).toString('hex')
}
