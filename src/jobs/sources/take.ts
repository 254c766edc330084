import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { extract } from 'tar-stream'
import { openPromise } from 'yauzl'
import { CodedError, invalidCorpus, reasonOf } from '../../../base/errors.ts'
import { fileBytes, zipName } from '../../../base/files.ts'
import { RATIO_FROM, READ_LIMITS } from '../../../index/read/contract.ts'
import { expanded } from '../../../index/read/expand.ts'
import { ARCHIVE } from './list.ts'
import { entryName, type FileSpool } from './spool.ts'

export interface UploadedFile {
  readonly name: string
  readonly bytes: AsyncIterable<Buffer>
  /** Encoding named by its content type. */
  readonly encoding?: string | undefined
}

/** Files, folders and links of an archive. */
const MOST_ENTRIES = 20_000

type ArchiveBudget = ReturnType<typeof archiveBudget>

/**
 * Remaining limits of expanding an archive. Counts actual bytes, not the declared sizes.
 * @param maxBytes limit of the expanded bytes of all archives
 * @param before bytes that earlier archives expanded to
 */
function archiveBudget(maxBytes: number, archiveBytes: number, before: number) {
  const { expansionRatio: ratio } = READ_LIMITS
  let [entries, bytes] = [0, 0]
  return {
    /** Bytes expanded so far. */
    bytes: () => bytes,
    /** Counts entries, before they are read where their number is known. @throws payload_too_large */
    entries: (count: number) => {
      if ((entries += count) > MOST_ENTRIES) throw tooLarge(`has more than ${MOST_ENTRIES} entries`)
    },
    /** @throws payload_too_large */
    expanding: async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        bytes += chunk.length
        if (before + bytes > maxBytes) throw tooLarge(`expands to more than ${maxBytes} bytes (CEPE_UPLOAD_LIMIT_MB)`)
        if (bytes > RATIO_FROM && bytes > archiveBytes * ratio) throw tooLarge(`expands to more than ${ratio} times its size`)
        yield chunk
      }
    },
  }
}

function tooLarge(problem: string): CodedError {
  return new CodedError('payload_too_large', `The archive ${problem}: send its files in several.`, { field: 'file' })
}

export type UploadedFiles = AsyncIterable<UploadedFile> | Iterable<UploadedFile>

/** Returns a function that forwards streams up to a number of bytes in all. @throws payload_too_large beyond it */
export function byteLimit(most: number): (bytes: AsyncIterable<Buffer>) => AsyncGenerator<Buffer> {
  let total = 0
  return async function* (bytes) {
    for await (const chunk of bytes) {
      total += chunk.length
      if (total > most) {
        const message = `The upload has more than ${most} bytes: put the file into the import folder and name it.`
        throw new CodedError('payload_too_large', message, { field: 'body' })
      }
      yield chunk
    }
  }
}

/** Names as bytes, by an option that the types lack; archives without a mark of their format. */
const TAR: Readonly<Record<string, unknown>> = { filenameEncoding: 'latin1', allowUnknownFormat: true }
/** The folder that was packed, where an archive names it: `tar cf files.tar .` */
const ITSELF = /^(?:\.\/)+$/
const FILES = ['file', 'contiguous-file']
const LINKS = ['link', 'symlink']
const LINK = 0o120000
const KIND = 0o170000

/** Stores the files of a tar archive, optionally gzipped. @throws corpus_invalid (damaged, paths outside of it), payload_too_large */
async function takeTar(archive: string, spool: FileSpool, budget: ArchiveBudget, within: string): Promise<void> {
  const entries = extract(TAR)
  const reading = pipeline(Readable.from(expanded(fileBytes(archive))), entries)
  // Awaited below: without a handler, an earlier failure would be unhandled.
  reading.catch(() => undefined)
  let read = 0
  try {
    for await (const entry of entries) {
      budget.entries(1)
      read++
      const { name, pax, type, mtime } = entry.header
      // Bytes that are not UTF-8 must not be replaced: names that differ in them would become one.
      const shown = Object.hasOwn(pax ?? {}, 'path') ? name : zipName({ fileName: name, fileNameRaw: Buffer.from(name, 'latin1') })
      const file = type === 'directory' && ITSELF.test(shown) ? '' : within + entryName(shown)
      if (FILES.includes(type ?? 'file')) await spool.take(file, budget.expanding(entry as AsyncIterable<Buffer>), { modified: mtime })
      else if (LINKS.includes(type ?? '')) spool.leaveOut(file, 'link', 'Links in archives are not followed.')
      else if (type !== 'directory') spool.leaveOut(file, 'not_supported', 'It is no regular file.')
      entry.resume()
    }
    await reading
  } catch (error) {
    throw damaged('tar', error)
  } finally {
    entries.destroy()
  }
  if (read === 0) throw invalidCorpus('file', 'The tar archive is empty.')
}

/** Stores the files of a ZIP archive. @throws corpus_invalid (damaged, paths outside of it), payload_too_large */
async function takeZip(archive: string, spool: FileSpool, budget: ArchiveBudget, within: string): Promise<void> {
  try {
    const zip = await openPromise(archive, { lazyEntries: true, autoClose: false, decodeStrings: true, strictFileNames: false })
    try {
      budget.entries(zip.entryCount)
      for await (const entry of zip.eachEntry()) {
        const name = zipName(entry)
        const file = ITSELF.test(name) ? '' : within + entryName(name)
        if (name.endsWith('/')) continue
        if (((entry.externalFileAttributes >>> 16) & KIND) === LINK) spool.leaveOut(file, 'link', 'Links in archives are not followed.')
        else if (entry.isEncrypted()) spool.leaveOut(file, 'encrypted', 'The entry is encrypted.')
        else {
          const content = await zip.openReadStreamPromise(entry)
          // A stream with a wrong declared size emits a second error after it was destroyed.
          content.on('error', () => undefined)
          await spool.take(file, budget.expanding(content as AsyncIterable<Buffer>), { modified: entry.getLastModDate() })
        }
      }
    } finally {
      zip.close()
    }
  } catch (error) {
    throw damaged('ZIP', error)
  }
}

/** The error of an archive; a system error while its files are written stays as it is. */
function damaged(format: string, error: unknown): unknown {
  if (error instanceof CodedError || (error instanceof Error && 'syscall' in error)) return error
  return invalidCorpus('file', `The ${format} archive is damaged (${reasonOf(error)}).`, error)
}

/**
 * Stores the files of an upload, archives expanded. Files of a single archive keep their paths; otherwise the archive's name is their
 * folder.
 * @param maxBytes limit of all files, archives expanded
 * @returns the names of the files and archives
 * @throws payload_too_large, corpus_invalid for a damaged archive, invalid_request for a repeated name
 */
export async function takeFiles(files: UploadedFiles, spool: FileSpool, maxBytes: number): Promise<string[]> {
  const names: string[] = []
  const archives: { readonly name: string; readonly stored: string }[] = []
  const limited = byteLimit(maxBytes)
  for await (const { name, bytes, encoding } of files) {
    names.push(name)
    if (ARCHIVE.test(name)) archives.push({ name, stored: (await spool.store(limited(bytes))).stored })
    else await spool.take(name, limited(bytes), { encoding })
  }
  let expanded = 0
  for (const { name, stored } of archives) {
    const at = spool.pathOf(stored)
    const budget = archiveBudget(maxBytes, (await stat(at)).size, expanded)
    const within = names.length === 1 ? '' : `${name.replace(ARCHIVE, '')}/`
    await (/\.zip$/i.test(name) ? takeZip : takeTar)(at, spool, budget, within)
    await spool.drop(stored)
    expanded += budget.bytes()
  }
  return names
}
