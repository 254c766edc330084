import { makeData, Utf8, type Data } from 'apache-arrow'
import { CodedError } from '../../base/errors.ts'

/** Arrow offsets have 32 bits. */
const MOST_BYTES = 2 ** 31 - 1
/** Characters encoded at once: well below V8's longest string. */
const MOST_CHARACTERS = 2 ** 28

/**
 * A string column; null for undefined values. Several times faster than Arrow's own builder.
 * @throws index_invalid for more bytes than such a column can hold
 */
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
    throw new CodedError('index_invalid', `${values.length} texts of ${bytes} bytes are too many for one commit: plan smaller shards.`, {
      field: '--shard-rows',
    })
  return makeData({
    type: new Utf8(),
    length: values.length,
    nullCount,
    nullBitmap: nullCount === 0 ? null : nullBitmap,
    valueOffsets,
    // Lone surrogates at the end of one text and the start of the next would have been joined to one character.
    data: joined?.length === bytes ? joined : Buffer.concat(values.map((value) => Buffer.from(value ?? ''))),
  })
}
