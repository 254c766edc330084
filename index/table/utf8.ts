import { makeData, Utf8, type Data } from 'apache-arrow'

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
  const data = new Uint8Array(bytes)
  const buffer = Buffer.from(data.buffer)
  for (const [i, value] of values.entries()) if (value !== undefined) buffer.write(value, valueOffsets[i] as number)
  return makeData({
    type: new Utf8(),
    length: values.length,
    nullCount,
    nullBitmap: nullCount === 0 ? null : nullBitmap,
    valueOffsets,
    data,
  })
}
