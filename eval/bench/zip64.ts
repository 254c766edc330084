/** Parts of zip64 archives, as torch writes them beyond 4 GiB. */

/** Whole numbers of 64 bits, little-endian. */
export function u64(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(8 * values.length)
  values.forEach((value, i) => bytes.writeBigUInt64LE(BigInt(value), 8 * i))
  return bytes
}

/** From "version needed" to the extra field's length: stored, sizes in the zip64 field; checksums are left out, as nobody reads them. */
export function zipFields(name: string, extra: Buffer): Buffer {
  const fields = Buffer.alloc(26)
  fields.writeUInt16LE(45, 0)
  fields.fill(0xff, 14, 22)
  fields.writeUInt16LE(Buffer.byteLength(name), 22)
  fields.writeUInt16LE(extra.length, 24)
  return fields
}

/** The extra field that holds sizes and offsets beyond 4 GiB (APPNOTE.TXT, section 4.5.3). */
export function zip64Field(...values: readonly number[]): Buffer {
  const payload = u64(...values)
  return Buffer.concat([Buffer.from([1, 0, payload.length, 0]), payload])
}
