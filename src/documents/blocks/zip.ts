import { buffer } from 'node:stream/consumers'
import { fromBufferPromise, type Entry, type ZipFile } from 'yauzl'
import { zipName } from '../../../base/files.ts'
import { CodedError, reasonOf } from '../../../base/errors.ts'
import { DocumentError } from '../errors.ts'
import { readText } from '../text.ts'

/** Limits of zip-based documents (DOCX, EPUB). */
const MOST_ENTRIES = 10_000
const MOST_BYTES = 256 * 2 ** 20
/** Maximum compression ratio of large archives. */
const MOST_RATIO = 200
const RATIO_FROM = 32 * 2 ** 20

export interface ZipDocument {
  readonly names: readonly string[]
  /**
   * The text of an entry, in the encoding that it declares.
   * @throws document_invalid for an entry that is missing, damaged or encrypted, or whose size differs from the declared one
   */
  read(name: string): Promise<string>
}

/** Opens a zip-based document, with limits on entries, size and compression. @throws document_invalid (damaged), payload_too_large */
export async function openZip(bytes: Uint8Array): Promise<ZipDocument> {
  try {
    const zip = await fromBufferPromise(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), { lazyEntries: true })
    const entries = await entriesOf(zip, bytes.length)
    return {
      names: [...entries.keys()],
      read: async (name) => {
        const entry = entries.get(name)
        if (entry === undefined)
          throw new DocumentError('damaged', `The file is incomplete: ${JSON.stringify(name.slice(0, 100))} is missing in it.`)
        return readText(await readEntry(zip, entry), { isHtml: true }).text
      },
    }
  } catch (error) {
    if (error instanceof CodedError) throw error
    throw new DocumentError('damaged', `The file is damaged (${reasonOf(error)}).`, error)
  }
}

async function entriesOf(zip: ZipFile, size: number): Promise<ReadonlyMap<string, Entry>> {
  const entries = new Map<string, Entry>()
  let total = 0
  for await (const entry of zip.eachEntry()) {
    total += entry.uncompressedSize
    if (entries.size >= MOST_ENTRIES || total > MOST_BYTES || (total > RATIO_FROM && total > size * MOST_RATIO)) {
      const message = `The file expands to more than is read (${MOST_ENTRIES} entries, ${MOST_BYTES} bytes, ${MOST_RATIO} times its size).`
      throw new DocumentError('too_large', message)
    }
    entries.set(zipName(entry), entry)
  }
  return entries
}

/** yauzl destroys a stream whose size differs from the declared one. */
async function readEntry(zip: ZipFile, entry: Entry): Promise<Buffer> {
  if (entry.isEncrypted()) throw new DocumentError('encrypted', 'The file is encrypted: save it without a password.')
  try {
    const content = await zip.openReadStreamPromise(entry)
    // A stream with a wrong declared size emits a second error after it was destroyed.
    content.on('error', () => undefined)
    return await buffer(content)
  } catch (error) {
    const message = `The file is damaged at ${JSON.stringify(zipName(entry).slice(0, 100))} (${reasonOf(error)}).`
    throw new DocumentError('damaged', message, error)
  }
}
