import { CodedError } from '../../../base/errors.ts'
import { jobFiles } from '../../../index/ingest/plan/job-files.ts'
import { livePassages, textBytes } from '../../../index/ingest/reembed.ts'
import { planBytes } from '../../../index/ingest/space.ts'
import type { ReadItem } from '../../../index/read/contract.ts'
import { readPassageFile } from '../../../index/read/read.ts'
import type { ListedFile } from '../folder/list.ts'
import { noteEmptied, noteFiles } from '../folder/missing.ts'
import { DEFAULT_FILE_BOUNDS, folderBytes, readFolder } from '../folder/read.ts'
import { corpusReadOptions } from '../reading.ts'
import type { Job } from '../schema.ts'
import type { JobRunOptions } from './record.ts'

export interface CorpusReading {
  readonly signal: AbortSignal
  /** Called with the share of the source read so far, 0 to 1. */
  readonly onShare: (share: number) => void
}

/** Corpus of a job. */
export interface Corpus {
  /** Estimated bytes of the plan on disk. */
  readonly bytes: () => Promise<number>
  readonly items: () => AsyncIterable<ReadItem>
}

/** Opens the corpus of a job. Uploaded and fetched files must be in its folder. @throws internal if they are missing */
export function corpusOf(
  job: Job,
  { index, store, limits, fileBounds: bounds = DEFAULT_FILE_BOUNDS }: JobRunOptions,
  reading: CorpusReading,
): Corpus {
  const { id, table, options } = job
  const { path, name, reembed, files } = job.source
  const live = { dir: index.dir, table }
  if (reembed === true) return { bytes: () => textBytes(live), items: () => livePassages(live) }
  const isKept = files?.uploaded === true || files?.web !== undefined
  const folder = isKept ? jobFiles(store.folder(id)).uploads : path
  if (folder === null) throw new CodedError('internal', 'The upload was not planned to its end: send it again.')
  if (files === undefined)
    return {
      bytes: () => planBytes(folder),
      items: () => readPassageFile(folder, { ...corpusReadOptions(options, name, limits), onShare: reading.onShare }),
    }
  const source = { path: folder, ...files, uploaded: isKept }
  // The list of pages was recorded when they were fetched.
  const further =
    files.web === undefined
      ? { onListed: (listed: readonly ListedFile[]) => noteFiles(store.folder(id), listed, options.label) }
      : { stored: (page: string) => index.export({ source: [page] }) }
  const items = async function* (): AsyncGenerator<ReadItem> {
    const emptied: string[] = []
    const onEmptied = (file: string): unknown => emptied.push(file)
    yield* readFolder(source, { options, bounds, limits, ...reading, ...further, onEmptied })
    // Before the plan is complete: a resumed job does not read the files again.
    if (emptied.length > 0) await noteEmptied(store.folder(id), emptied)
  }
  return { bytes: () => folderBytes(source), items }
}
