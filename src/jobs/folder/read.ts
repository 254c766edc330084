import type { ReadItem, ReadLimits } from '../../../index/read/contract.ts'
import { createPassageReader } from '../../documents/corpus/reader.ts'
import { corpusReadOptions } from '../reading.ts'
import type { JobOptions } from '../schema.ts'
import { SPLIT_WORDS } from '../split-words.ts'
import { listSpool } from '../upload/spool.ts'
import { folderItems, type FolderOptions, type ListedFile } from './items.ts'
import { listFiles, listFolder } from './list.ts'

/** Limits of reading files. */
export interface FileBounds {
  /** CPU time limit per file in milliseconds. */
  readonly parseMs: number
  /** Maximum bytes of a file. */
  readonly maxBytes: number
}

export const DEFAULT_FILE_BOUNDS: FileBounds = { parseMs: 30_000, maxBytes: 32 * 2 ** 20 }

export interface FolderSource {
  readonly path: string
  /** Names of files in the folder. Default: all. */
  readonly only?: readonly string[] | undefined
  /** Whether to read tables too. */
  readonly tables?: boolean | undefined
  /** The folder contains spooled files of an upload. */
  readonly uploaded?: boolean | undefined
}

export interface FolderReading {
  readonly options: JobOptions
  readonly bounds: FileBounds
  readonly limits?: Partial<ReadLimits> | undefined
  readonly signal: AbortSignal
  readonly onShare?: (share: number) => void
  /** Called with all files before the first is read. */
  readonly onListed?: (files: readonly ListedFile[]) => Promise<void>
  readonly onEmptied?: FolderOptions['onEmptied']
  /** Returns the stored passages of an unchanged file. */
  readonly stored?: FolderOptions['stored']
}

/** Reads the documents of a folder as passages, in child processes that end with the iteration. @throws not_found; the signal's reason once aborted */
export async function* readFolder(
  source: FolderSource,
  { options, bounds, limits, signal, onShare, onListed, onEmptied, stored }: FolderReading,
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
      encoding: options.encoding,
      maxBytes: bounds.maxBytes,
      limits,
      signal,
      tables: corpusReadOptions(options, undefined, limits),
      onShare,
      onEmptied,
      ...(stored && { stored }),
    })
  } finally {
    reader.close()
  }
}

function filesOf({ path, only, tables, uploaded }: FolderSource): Promise<ListedFile[]> {
  if (uploaded === true) return listSpool(path)
  return only === undefined ? listFolder(path, tables) : listFiles(path, only)
}

/** Share of files that may be left out. Default: any. */
export function leftOutShare({ strict, max_rejected_share: share = 1 }: JobOptions): number {
  return strict === true ? 0 : share
}

/** Total bytes of the files to read. */
export async function folderBytes(source: FolderSource): Promise<number> {
  const files = await filesOf(source)
  return files.reduce((sum, file) => sum + ('bytes' in file ? file.bytes : 0), 0)
}
