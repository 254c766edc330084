import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { extract } from 'tar-stream'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { READ_LIMITS } from '../../../index/read/contract.ts'
import { gunzip } from '../../../index/read/expand.ts'
import { isGzip, peek } from '../../../index/read/sniff.ts'
import type { ArchiveBudget } from './budget.ts'
import { entryName } from './entry-name.ts'
import type { FileSpool } from './spool.ts'
import { isOfDisk } from './zip.ts'

const FILES = ['file', 'contiguous-file']
const LINKS = ['link', 'symlink']

/** Stores the files of a tar archive, optionally gzipped. @throws corpus_invalid (damaged, paths outside of it), payload_too_large */
export async function takeTar(archive: string, spool: FileSpool, budget: ArchiveBudget, within: string): Promise<void> {
  const { head, all } = await peek(createReadStream(archive) as AsyncIterable<Buffer>, 2)
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
    if (error instanceof CodedError || isOfDisk(error)) throw error
    throw new CodedError('corpus_invalid', `The tar archive is damaged (${messageOf(error)}).`, { field: 'file', cause: error })
  } finally {
    entries.destroy()
  }
  if (read === 0) throw new CodedError('corpus_invalid', 'The tar archive is empty.', { field: 'file' })
}
