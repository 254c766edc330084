import { jobFiles } from '../../../index/ingest/plan/contract.ts'
import type { PassageIndex } from '../../../index/passage-index.ts'
import { sourceOf } from '../sources/list.ts'
import { listedBy } from '../sources/missing.ts'
import type { Job } from '../record/schema.ts'
import type { JobStore } from '../record/store.ts'
import { isSpooled, listSpool } from '../sources/spool.ts'
import { KeptFiles, keptFolder } from './kept-files.ts'

/**
 * Keeps the uploaded files of a finished job that have passages. Removes kept files without passages, and those whose source the job
 * read from elsewhere.
 * @param maxBytes limit of all kept files; 0 keeps none and removes all
 * @returns the number of files that were evicted or not kept for lack of space
 */
export async function keepUploads(
  { id, table, source, options }: Job,
  { index, store, maxBytes }: { readonly index: PassageIndex; readonly store: JobStore; readonly maxBytes: number },
): Promise<number> {
  if (source.files === undefined) return 0
  const kept = new KeptFiles(keptFolder(store.dir))
  const isUpload = source.files.uploaded === true
  // Listing the sources reads a column of the whole table: skip it if there is nothing to keep or remove.
  if ((!isUpload || maxBytes === 0) && (await kept.list()).length === 0) return 0
  const present = new Set((await index.sources()).map((one) => one.source))
  const { uploads } = jobFiles(store.folder(id))
  // Missing if the job was killed right before its end: then the files were kept already.
  let tooLarge = 0
  if (isUpload && maxBytes > 0 && (await isSpooled(uploads)))
    for (const file of await listSpool(uploads)) {
      const name = sourceOf(file.file, options.label)
      if (!('path' in file) || !present.has(name)) continue
      if (file.bytes <= maxBytes) await kept.keep(table, name, file.path)
      else {
        tooLarge++
        // A file kept from an earlier upload no longer matches the passages.
        await kept.forget(table, name)
      }
    }
  if (!isUpload) for (const name of (await listedBy(store.folder(id))).sources) await kept.forget(table, name)
  await kept.forgetMissing(table, present)
  return tooLarge + (await kept.fit(maxBytes))
}
