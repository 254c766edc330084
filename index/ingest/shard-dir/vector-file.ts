import { webcrypto } from 'node:crypto'
import { open } from 'node:fs/promises'
import { at } from '../../../base/at.ts'
import { halvesFinite } from '../../../base/binary16.ts'
import { writeFileDurably } from '../../../base/durable.ts'
import { invalidIndex, reasonOf } from '../../../base/errors.ts'
import { arrow } from '../../../migrations/arrow.ts'
import { RowsDigest } from '../../hash.ts'
import { oneBatch, stringsOf, vectorColumn } from '../../table/rows.ts'
import { utf8 } from '../../table/metadata-columns.ts'
import type { PlannedRow } from '../plan/plan.ts'

/** Vectors are stored as float16, as in the table. */
export const VECTOR_PRECISION = 'f16'

/** A vector file and its expected identity. */
export interface VectorFile {
  readonly path: string
  readonly model: string
  readonly dimension: number
  readonly shard: number
  readonly rows: number
  /** Digest of the shard's ids and contents. */
  readonly digest: string
}

const PREFIX = 'cepe:'
function identityOf({ model, dimension, shard, rows, digest }: VectorFile): Map<string, string> {
  const values = { model, precision: VECTOR_PRECISION, dimension, shard, rows, digest }
  return new Map(Object.entries(values).map(([key, value]) => [PREFIX + key, String(value)]))
}

/**
 * Writes the vectors of a shard as an Arrow IPC file with the columns `id`, `hash` and `vector`, atomically and durably. Its identity and
 * the SHA-256 of all vectors are in the schema's metadata.
 * @param halves [rows, dimension]
 */
export async function writeVectorFile(of: VectorFile, rows: readonly PlannedRow[], halves: Uint16Array): Promise<void> {
  const vectors = vectorColumn(halves, of.dimension)
  const metadata = identityOf(of).set(`${PREFIX}sha256`, await sha256(halves))
  const types = { id: new arrow.Utf8(), hash: new arrow.Utf8(), vector: vectors.type }
  const fields = Object.entries(types).map(([name, type]) => new arrow.Field(name, type, false))
  const children = [utf8(rows.map(({ passage }) => passage.id)), utf8(rows.map(({ hash }) => hash)), vectors]
  const table = oneBatch(new arrow.Schema(fields, metadata), rows.length, children)
  await writeFileDurably(of.path, arrow.tableToIPC(table, 'file'))
}

/** Returns why the file's metadata does not match the shard; undefined if it does. @throws ENOENT */
export async function foreignVectors(of: VectorFile): Promise<string | undefined> {
  await using file = await open(of.path, 'r')
  try {
    // Both are promises for a file handle, whatever the types state; only the end of the file is read.
    const reader = await Promise.resolve(arrow.RecordBatchReader.from(file))
    const { schema } = await Promise.resolve(reader.open())
    return differs(schema.metadata, of)
  } catch {
    return 'is not a complete Arrow file'
  }
}

/** As {@link foreignVectors}, but reads the whole file and also checks ids, content hashes and vectors. */
export async function unsoundVectors(of: VectorFile): Promise<string | undefined> {
  const foreign = await foreignVectors(of)
  if (foreign !== undefined) return foreign
  const found = await readSound(of, (ids, hashes) => {
    const digest = new RowsDigest()
    for (let row = 0; row < of.rows; row++) digest.add(ids(row), hashes(row))
    return digest.toString() === of.digest ? undefined : 'is damaged: its passages are not those of the shard'
  })
  return typeof found === 'string' ? found : undefined
}

/** Reads a planned shard's vectors, float16 [rows, dimension]; checks ids, hashes, numbers. @throws index_invalid with shard and problem */
export async function readVectorFile(of: VectorFile, rows: readonly PlannedRow[]): Promise<Uint16Array> {
  const found = await readSound(of, (ids, hashes) => {
    const other = rows.findIndex(({ passage, hash }, row) => ids(row) !== passage.id || hashes(row) !== hash)
    return other < 0 ? undefined : `has another passage than "${at(rows, other).passage.id}" in row ${other}`
  })
  if (typeof found !== 'string') return found
  throw invalidIndex(of.path, `The vectors of shard ${of.shard} cannot be used: ${of.path} ${found}. Remove it and embed the shard again.`)
}

type Column = (row: number) => string

/** Reads and checks a vector file. @param flawOf checks ids and content hashes, by row @returns the vectors, or why they cannot be used */
async function readSound(of: VectorFile, flawOf: (ids: Column, hashes: Column) => string | undefined): Promise<Uint16Array | string> {
  try {
    const table = arrow.tableFromIPC(await readWhole(of.path))
    const { metadata } = table.schema
    const difference = differs(metadata, of)
    if (difference !== undefined) return difference
    const halves: unknown = table.getChild('vector')?.data[0]?.children[0]?.values
    if (!(halves instanceof Uint16Array) || halves.length !== of.rows * of.dimension || table.numRows !== of.rows)
      return 'does not hold one vector for each passage of the shard'
    const flaw = flawOf(stringsOf(table, 'id'), stringsOf(table, 'hash'))
    if (flaw !== undefined) return flaw
    if ((await sha256(halves)) !== metadata.get(`${PREFIX}sha256`)) return 'is damaged: its vectors are not those that were written'
    return halvesFinite(halves) ? halves : 'holds numbers that are not finite'
  } catch (error) {
    return `is damaged: it cannot be read (${reasonOf(error)})`
  }
}

/** Reads a file at once: Node reads half a megabyte at a time. */
async function readWhole(path: string): Promise<Uint8Array> {
  await using file = await open(path, 'r')
  const bytes = Buffer.allocUnsafeSlow((await file.stat()).size)
  const { bytesRead } = await file.read(bytes, 0, bytes.length)
  return bytesRead === bytes.length ? bytes : await file.readFile()
}

function differs(metadata: ReadonlyMap<string, string>, of: VectorFile): string | undefined {
  for (const [key, wanted] of identityOf(of)) {
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
