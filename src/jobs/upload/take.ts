import { stat } from 'node:fs/promises'
import { READ_LIMITS } from '../../../index/read/contract.ts'
import { ARCHIVE, isArchive } from '../folder/list.ts'
import { takeTar, takeZip } from './archives.ts'
import { ArchiveBudget, limitBytes } from './budget.ts'
import type { FileSpool } from './spool.ts'

/** A file being received. */
export interface UploadedFile {
  readonly name: string
  readonly bytes: AsyncIterable<Buffer>
  /** Encoding named by its content type. */
  readonly encoding?: string | undefined
}

/** Maximum entries of an archive. */
const MOST_ENTRIES = 20_000

/**
 * Stores the files of an upload, archives expanded. Files of a single archive keep their paths; otherwise the archive's name is their
 * folder.
 * @param maxBytes limit of all files, archives expanded
 * @throws payload_too_large, corpus_invalid for a damaged archive, invalid_request for a repeated name
 */
export async function takeFiles(files: AsyncIterable<UploadedFile>, spool: FileSpool, maxBytes: number): Promise<void> {
  const archives: { readonly name: string; readonly stored: string }[] = []
  let others = 0
  let received = 0
  const counted = async function* (bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of limitBytes(bytes, maxBytes - received)) {
      received += chunk.length
      yield chunk
    }
  }
  for await (const { name, bytes, encoding } of files) {
    if (isArchive(name)) archives.push({ name, stored: await spool.store(counted(bytes)) })
    else {
      others++
      await spool.take(name, counted(bytes), { encoding })
    }
  }
  let expanded = 0
  for (const { name, stored } of archives) {
    const at = spool.pathOf(stored)
    const budget = new ArchiveBudget(
      { entries: MOST_ENTRIES, bytes: maxBytes - expanded, ratio: READ_LIMITS.expansionRatio },
      (await stat(at)).size,
    )
    const within = archives.length + others === 1 ? '' : `${name.replace(ARCHIVE, '')}/`
    await (/\.zip$/i.test(name) ? takeZip : takeTar)(at, spool, budget, within)
    await spool.drop(stored)
    expanded += budget.bytes
  }
}
