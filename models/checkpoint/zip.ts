import { basename } from 'node:path'
import { openPromise, type Entry, type ZipFile } from 'yauzl'
import { CodedError, messageOf } from '../../base/errors.ts'
import { invalid, unsupported } from '../errors.ts'
import type { WeightFile } from './file.ts'

/** A torch file has one entry per storage and a few more. */
const MAX_ZIP_ENTRIES = 200_000

export interface StoredEntry {
  readonly offset: number
  readonly bytes: number
  /** CRC-32; 0 if it was not computed. */
  readonly sum: number
}

const STORED = 0

async function locate(zip: ZipFile, entry: Entry, file: WeightFile): Promise<StoredEntry> {
  const where = `${basename(file.path)}: entry ${JSON.stringify(entry.fileName)}`
  if (entry.isEncrypted()) throw unsupported(`${where} is encrypted`, file.path)
  if (entry.compressionMethod !== STORED || entry.compressedSize !== entry.uncompressedSize)
    throw unsupported(`${where} is compressed; torch.save stores tensors uncompressed, and nothing else is read`, file.path)
  const { fileDataStart: offset } = await zip.readLocalFileHeaderPromise(entry, { minimal: true })
  const bytes = entry.uncompressedSize
  if (offset + bytes > file.size) throw invalid(`${where} reaches beyond the end of the file`, file.path)
  return { offset, bytes, sum: entry.crc32 }
}

function checkDisjoint(entries: ReadonlyMap<string, StoredEntry>, file: WeightFile): void {
  let end = 0
  for (const [name, entry] of [...entries].sort(([, a], [, b]) => a.offset - b.offset)) {
    if (entry.offset < end) throw invalid(`${basename(file.path)}: entry ${JSON.stringify(name)} overlaps another`, file.path)
    end = entry.offset + entry.bytes
  }
}

async function readEntries(zip: ZipFile, file: WeightFile): Promise<ReadonlyMap<string, StoredEntry>> {
  if (zip.entryCount > MAX_ZIP_ENTRIES)
    throw invalid(`${basename(file.path)} claims ${zip.entryCount} zip entries, more than ${MAX_ZIP_ENTRIES}`, file.path)
  const entries = new Map<string, StoredEntry>()
  for await (const entry of zip.eachEntry()) {
    if (entries.has(entry.fileName))
      throw invalid(`${basename(file.path)}: entry ${JSON.stringify(entry.fileName)} occurs twice`, file.path)
    entries.set(entry.fileName, await locate(zip, entry, file))
  }
  checkDisjoint(entries, file)
  return entries
}

/**
 * Reads the entries of a zip (zip64 too) with uncompressed members, as torch.save writes it.
 * @throws checkpoint_invalid for a broken archive or overlapping entries; unsupported for compression or encryption
 */
export async function readStoredZip(file: WeightFile): Promise<ReadonlyMap<string, StoredEntry>> {
  let zip: ZipFile | undefined
  try {
    // Sizes are compared in locate, whose message can refer to torch.
    zip = await openPromise(file.path, { lazyEntries: true, autoClose: false, validateEntrySizes: false })
    return await readEntries(zip, file)
  } catch (thrown) {
    if (thrown instanceof CodedError) throw thrown
    const message = `${basename(file.path)} is no readable zip (${messageOf(thrown)}); it is damaged, or older than torch 1.6: load it in torch and save it again, best as safetensors`
    throw invalid(message, file.path)
  } finally {
    zip?.close()
  }
}
