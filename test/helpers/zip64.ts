import { open } from 'node:fs/promises'
import { u64, zip64Field, zipFields } from '../../eval/bench/zip64.ts'

/** One stored entry of a large archive: either bytes, or a length of zeros that takes no space on disk. */
export interface LargeEntry {
  readonly name: string
  readonly content: Uint8Array | number
}

function sizeOf({ content }: LargeEntry): number {
  return typeof content === 'number' ? content : content.length
}

/** Writes a zip64 archive, as torch does beyond 4 GiB, leaving holes for the zeros. */
export async function writeZip64(path: string, entries: readonly LargeEntry[]): Promise<void> {
  const file = await open(path, 'w')
  try {
    const central: Buffer[] = []
    let at = 0
    for (const entry of entries) {
      const bytes = sizeOf(entry)
      const local = zip64Field(bytes, bytes)
      const header = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), zipFields(entry.name, local), Buffer.from(entry.name), local])
      await file.write(header, 0, header.length, at)
      if (typeof entry.content !== 'number') await file.write(entry.content, 0, bytes, at + header.length)
      const extra = zip64Field(bytes, bytes, at)
      const tail = Buffer.alloc(14)
      tail.fill(0xff, 10)
      central.push(
        Buffer.concat([Buffer.from('PK\x01\x02\x2d\x00', 'latin1'), zipFields(entry.name, extra), tail, Buffer.from(entry.name), extra]),
      )
      at += header.length + bytes
    }
    const directory = Buffer.concat(central)
    const record = Buffer.concat([
      Buffer.from('PK\x06\x06', 'latin1'),
      u64(44),
      Buffer.from([45, 0, 45, 0]),
      Buffer.alloc(8),
      u64(entries.length, entries.length, directory.length, at),
    ])
    const locator = Buffer.concat([
      Buffer.from('PK\x06\x07', 'latin1'),
      Buffer.alloc(4),
      u64(at + directory.length),
      Buffer.from([1, 0, 0, 0]),
    ])
    const end = Buffer.concat([Buffer.from('PK\x05\x06', 'latin1'), Buffer.alloc(4), Buffer.alloc(12, 0xff), Buffer.alloc(2)])
    const tail = Buffer.concat([directory, record, locator, end])
    await file.write(tail, 0, tail.length, at)
  } finally {
    await file.close()
  }
}
