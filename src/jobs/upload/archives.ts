import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { extract } from 'tar-stream'
import { openPromise, type Entry } from 'yauzl'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { fileBytes } from '../../../base/files.ts'
import { READ_LIMITS } from '../../../index/read/contract.ts'
import { gunzip } from '../../../index/read/expand.ts'
import { isGzip, peek } from '../../../index/read/sniff.ts'
import type { ArchiveBudget } from './budget.ts'
import { entryName } from './entry-name.ts'
import type { FileSpool } from './spool.ts'

const FILES = ['file', 'contiguous-file']
const LINKS = ['link', 'symlink']
const LINK = 0o120000
const KIND = 0o170000

/** Stores the files of a tar archive, optionally gzipped. @throws corpus_invalid (damaged, paths outside of it), payload_too_large */
export async function takeTar(archive: string, spool: FileSpool, budget: ArchiveBudget, within: string): Promise<void> {
  const { head, all } = await peek(fileBytes(archive), 2)
  const entries = extract()
  const reading = pipeline(Readable.from(isGzip(head) ? gunzip(all, READ_LIMITS) : all), entries)
  // Awaited below: without a handler, an earlier failure would be unhandled.
  reading.catch(() => undefined)
  let read = 0
  try {
    for await (const entry of entries) {
      budget.entries(1)
      read++
      const { name, type, mtime } = entry.header
      const file = within + entryName(name)
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
  if (read === 0) throw new CodedError('corpus_invalid', 'The tar archive is empty.', { field: 'file' })
}

/** Stores the files of a ZIP archive. @throws corpus_invalid (damaged, paths outside of it), payload_too_large */
export async function takeZip(archive: string, spool: FileSpool, budget: ArchiveBudget, within: string): Promise<void> {
  try {
    const zip = await openPromise(archive, { lazyEntries: true, autoClose: false, decodeStrings: true, strictFileNames: false })
    try {
      budget.entries(zip.entryCount)
      for await (const entry of zip.eachEntry()) {
        const file = within + entryName(entry.fileName)
        if (entry.fileName.endsWith('/')) continue
        if (isLink(entry)) spool.leaveOut(file, 'link', 'Links in archives are not followed.')
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

function isLink({ externalFileAttributes }: Entry): boolean {
  return ((externalFileAttributes >>> 16) & KIND) === LINK
}

/** The error of an archive; a system error while its files are written stays as it is. */
function damaged(format: string, error: unknown): unknown {
  if (error instanceof CodedError || (error instanceof Error && 'syscall' in error)) return error
  return new CodedError('corpus_invalid', `The ${format} archive is damaged (${messageOf(error)}).`, { field: 'file', cause: error })
}
