import { openPromise, type Entry } from 'yauzl'
import { CodedError, messageOf } from '../../../base/errors.ts'
import type { ArchiveBudget } from './budget.ts'
import { entryName } from './entry-name.ts'
import type { FileSpool } from './spool.ts'

const LINK = 0o120000
const KIND = 0o170000

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
    if (error instanceof CodedError || isOfDisk(error)) throw error
    throw new CodedError('corpus_invalid', `The ZIP archive is damaged (${messageOf(error)}).`, { field: 'file', cause: error })
  }
}

function isLink({ externalFileAttributes }: Entry): boolean {
  return ((externalFileAttributes >>> 16) & KIND) === LINK
}

/** True for a system error while writing files, not an error of the archive. */
export function isOfDisk(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error
}
