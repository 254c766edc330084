import type { ReadItem, ReadLimits } from '../../../index/read/contract.ts'
import { createPassageReader } from '../../documents/corpus/reader.ts'
import { corpusReadOptions } from '../reading.ts'
import type { JobOptions } from '../schema.ts'
import { SPLIT_WORDS } from '../split-words.ts'
import { listSpool } from '../upload/spool.ts'
import { folderItems } from './items.ts'
import { listFiles, listFolder, type FolderFile, type LeftOutFile } from './list.ts'

/** Bounds of reading files. */
export interface FileBounds {
  /** Milliseconds that a file may take. */
  readonly parseMs: number
  /** Bytes of the largest file that is read. */
  readonly maxBytes: number
}

export const DEFAULT_FILE_BOUNDS: FileBounds = { parseMs: 30_000, maxBytes: 32 * 2 ** 20 }

export interface FolderSource {
  readonly path: string
  /** Names of files in it; all of them where absent. */
  readonly only?: readonly string[] | undefined
  /** Tables in the folder are read with its documents. */
  readonly tables?: boolean | undefined
  /** The folder holds the files of an upload. */
  readonly uploaded?: boolean | undefined
}

export interface FolderReading {
  readonly options: JobOptions
  readonly bounds: FileBounds
  readonly limits?: Partial<ReadLimits> | undefined
  readonly signal: AbortSignal
  readonly onShare?: (share: number) => void
  /** Told all files before the first is read. */
  readonly onListed?: (files: readonly (FolderFile | LeftOutFile)[]) => Promise<void>
}

/** Reads the documents of a folder as passages; the processes that read them end with it. @throws not_found; the signal's reason once aborted */
export async function* readFolder(
  source: FolderSource,
  { options, bounds, limits, signal, onShare, onListed }: FolderReading,
): AsyncGenerator<ReadItem> {
  const files = await filesOf(source)
  await onListed?.(files)
  const reader = createPassageReader({ parseMs: bounds.parseMs })
  try {
    yield* folderItems(files, {
      reader,
      words: options.split_words ?? SPLIT_WORDS.byDefault,
      label: options.label,
      metadata: options.no_metadata !== true,
      maxBytes: bounds.maxBytes,
      limits,
      signal,
      tables: corpusReadOptions(options, undefined, limits),
      ...(onShare && { onShare }),
    })
  } finally {
    reader.close()
  }
}

function filesOf({ path, only, tables, uploaded }: FolderSource): Promise<(FolderFile | LeftOutFile)[]> {
  if (uploaded === true) return listSpool(path)
  return only === undefined ? listFolder(path, tables) : listFiles(path, only)
}

/** Share of files that may be left out: any, unless the order says otherwise. */
export function leftOutShare({ strict, max_rejected_share: share = 1 }: JobOptions): number {
  return strict === true ? 0 : share
}

/** Bytes of the files that will be read. */
export async function folderBytes(source: FolderSource): Promise<number> {
  const files = await filesOf(source)
  return files.reduce((sum, file) => sum + ('bytes' in file ? file.bytes : 0), 0)
}
