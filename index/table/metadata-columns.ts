import type { Data, List, Utf8 } from 'apache-arrow'
import { invalidIndex } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { arrow } from '../../migrations/arrow.ts'
import type { MetadataValue, PassageMetadata } from '../passage-metadata.ts'

/** Arrow offsets have 32 bits. */
const MOST_BYTES = 2 ** 31 - 1
/** Characters encoded at once: well below V8's longest string. */
const MOST_CHARACTERS = 2 ** 28

/** A string column; null for undefined. Several times faster than Arrow's builder. @throws index_invalid for more bytes than it can hold */
export function utf8(values: readonly (string | undefined)[]): Data<Utf8> {
  const characters = values.reduce((sum, value) => sum + (value?.length ?? 0), 0)
  const joined = characters <= MOST_CHARACTERS ? Buffer.from(values.join('')) : undefined
  // An ASCII string has as many bytes as characters.
  const bytesOf =
    joined?.length === characters ? (value: string): number => value.length : (value: string): number => Buffer.byteLength(value)
  const valueOffsets = new Int32Array(values.length + 1)
  const nullBitmap = new Uint8Array(Math.ceil(values.length / 8))
  let [bytes, nullCount] = [0, 0]
  for (const [i, value] of values.entries()) {
    if (value === undefined) nullCount++
    else {
      bytes += bytesOf(value)
      nullBitmap[i >> 3] = (nullBitmap[i >> 3] as number) | (1 << (i & 7))
    }
    valueOffsets[i + 1] = bytes
  }
  if (bytes > MOST_BYTES)
    throw invalidIndex('--shard-rows', `${values.length} texts of ${bytes} bytes are too many for one commit: plan smaller shards.`)
  return arrow.makeData({
    type: new arrow.Utf8(),
    length: values.length,
    nullCount,
    nullBitmap: nullCount === 0 ? null : nullBitmap,
    valueOffsets,
    // Lone surrogates at the end of one text and the start of the next would have been joined to one character.
    data: joined?.length === bytes ? joined : Buffer.concat(values.map((value) => Buffer.from(value ?? ''))),
  })
}

/**
 * Metadata is stored twice. `metadata` is binary JSON with access to single fields; its functions fail for a value of another type, so each
 * stored name has a type prefix: a typed name has that type or is absent. `metadata_labels` lists a string for each name and value, for the
 * equality index.
 */
const listType = new arrow.List(new arrow.Field('item', new arrow.Utf8(), true))

export const LABELS_COLUMN = 'metadata_labels'

function tagOf(value: MetadataValue): 's' | 'n' | 'b' | '0' | 'l' {
  if (value === null) return '0'
  if (Array.isArray(value)) return 'l'
  return typeof value === 'string' ? 's' : typeof value === 'number' ? 'n' : 'b'
}

/** The stored name of a field with a value of this type. */
export function typedName(name: string, value: MetadataValue): string {
  return `${tagOf(value)}:${name}`
}

export function label(name: string, value: string | number | boolean | null): string {
  return JSON.stringify([name, value])
}

function labelsOf(metadata: PassageMetadata): string[] {
  const all = Object.entries(metadata).flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((one) => label(name, one)) : [label(name, value)],
  )
  return [...new Set(all)]
}

export function metadataColumns(metadata: readonly (PassageMetadata | undefined)[]): [Data<Utf8>, Data<List<Utf8>>] {
  const typed = (one: PassageMetadata): string =>
    JSON.stringify(Object.fromEntries(Object.entries(one).map(([name, value]) => [typedName(name, value), value])))
  const json = utf8(metadata.map((one) => (one === undefined ? undefined : typed(one))))
  const valueOffsets = new Int32Array(metadata.length + 1)
  const labels: string[] = []
  for (const [i, one] of metadata.entries()) {
    if (one !== undefined) labels.push(...labelsOf(one))
    valueOffsets[i + 1] = labels.length
  }
  const { length, nullCount } = json
  const nullBitmap = nullCount === 0 ? null : json.nullBitmap
  return [json, arrow.makeData({ type: listType, length, nullCount, nullBitmap, valueOffsets, child: utf8(labels) })]
}

/** Decodes metadata from the column's value; undefined if there is none. */
export function storedMetadata(text: string): PassageMetadata | undefined {
  const stored = text === '' ? undefined : parseJson(text)
  if (typeof stored !== 'object' || stored === null) return undefined
  const entries = Object.entries(stored as PassageMetadata).map(([name, value]) => [name.slice(2), value] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}
