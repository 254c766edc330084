import { open } from 'node:fs/promises'

/** An entry of a zip archive, stored as it is: its bytes, written as they come, or zeros, which take no space on the disk. */
export interface ZipEntry {
  readonly name: string
  readonly size: number
  readonly content: (() => Iterable<Uint8Array>) | 'zeros'
}

/** Writes a new zip64 archive (APPNOTE.TXT, section 4.3), as torch does beyond 4 GiB. @returns its bytes */
export async function writeZip64(path: string, entries: readonly ZipEntry[]): Promise<number> {
  const file = await open(path, 'wx')
  try {
    const central: Buffer[] = []
    let at = 0
    for (const { name, size, content } of entries) {
      const local = zip64Field(size, size)
      const header = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), zipFields(name, local), Buffer.from(name), local])
      await file.write(header, 0, header.length, at)
      let position = at + header.length
      for (const part of content === 'zeros' ? [] : content()) {
        await file.write(part, 0, part.length, position)
        position += part.length
      }
      const extra = zip64Field(size, size, at)
      const tail = Buffer.alloc(14)
      tail.fill(0xff, 10)
      central.push(Buffer.concat([Buffer.from('PK\x01\x02\x2d\x00', 'latin1'), zipFields(name, extra), tail, Buffer.from(name), extra]))
      at += header.length + size
    }
    const tail = directoryOf(central, at)
    await file.write(tail, 0, tail.length, at)
    return at + tail.length
  } finally {
    await file.close()
  }
}

/** The central directory, at this place, and what tells where it is. */
function directoryOf(central: readonly Buffer[], at: number): Buffer {
  const directory = Buffer.concat(central)
  const counts = u64(central.length, central.length, directory.length, at)
  const record = Buffer.concat([Buffer.from('PK\x06\x06', 'latin1'), u64(44), Buffer.from([45, 0, 45, 0]), Buffer.alloc(8), counts])
  const locator = Buffer.concat([
    Buffer.from('PK\x06\x07', 'latin1'),
    Buffer.alloc(4),
    u64(at + directory.length),
    Buffer.from([1, 0, 0, 0]),
  ])
  const end = Buffer.concat([Buffer.from('PK\x05\x06', 'latin1'), Buffer.alloc(4), Buffer.alloc(12, 0xff), Buffer.alloc(2)])
  return Buffer.concat([directory, record, locator, end])
}

/** Whole numbers of 64 bits, little-endian. */
export function u64(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(8 * values.length)
  values.forEach((value, i) => bytes.writeBigUInt64LE(BigInt(value), 8 * i))
  return bytes
}

/** From "version needed" to the extra field's length: stored, sizes in the zip64 field; checksums are left out, as nobody reads them. */
function zipFields(name: string, extra: Buffer): Buffer {
  const fields = Buffer.alloc(26)
  fields.writeUInt16LE(45, 0)
  fields.fill(0xff, 14, 22)
  fields.writeUInt16LE(Buffer.byteLength(name), 22)
  fields.writeUInt16LE(extra.length, 24)
  return fields
}

/** The extra field that holds sizes and offsets beyond 4 GiB (section 4.5.3). */
function zip64Field(...values: readonly number[]): Buffer {
  const payload = u64(...values)
  return Buffer.concat([Buffer.from([1, 0, payload.length, 0]), payload])
}
