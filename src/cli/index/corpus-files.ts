import { open, stat } from 'node:fs/promises'
import path from 'node:path'
import { CodedError } from '../../../base/errors.ts'
import { isPageAddress } from '../../crawl/page-address.ts'
import type { ReadingOptions } from './reading-options.ts'
import { isArchive, isDocument, isTable, listFolder, type LeftOutFile } from '../../jobs/sources/list.ts'

/** The corpus of a command's arguments. */
export interface Corpus {
  /** Files of passages: one job each. */
  readonly tables: readonly string[]
  /** JSON files beside documents in a folder, which may be something else than tables. Part of `tables`. */
  readonly besideDocuments: ReadonlySet<string>
  /** Folders of documents, or documents in a folder: one job each. */
  readonly documents: readonly { readonly path: string; readonly only?: readonly string[] }[]
  /** Archives of documents and tables: one job each. */
  readonly archives: readonly string[]
  /** Addresses of pages and sitemaps: all become one job. */
  readonly pages: readonly string[]
  /** Unsupported files in folders without documents. */
  readonly leftOut: readonly LeftOutFile[]
}

/** Magic bytes of files that are no tables: ZIP (DOCX, XLSX), Microsoft's older container, PDF, images, RTF. */
const FOREIGN = /^(?:PK\x03\x04|\xd0\xcf\x11\xe0|%PDF-|\x89PNG|\xff\xd8\xff|GIF8|\{\\rtf)/

/**
 * Expands arguments to tables and documents: files as given, folders recursively, sorted by name.
 * @param options with a format, every file is a table; with columns, one with an unknown extension
 * @throws not_found for a missing argument, corpus_invalid for a folder with neither
 */
export async function corpusFiles(
  given: readonly string[],
  { format, columns }: Pick<ReadingOptions, 'format' | 'columns'>,
): Promise<Corpus> {
  const tables: string[] = []
  const besideDocuments = new Set<string>()
  const folders: string[] = []
  const single = new Map<string, string[]>()
  const leftOut: LeftOutFile[] = []
  const archives: string[] = []
  const pages = given.filter(isPageAddress)
  for (const name of given) {
    if (isPageAddress(name)) continue
    const at = path.resolve(name)
    const found = await stat(at).catch(() => undefined)
    if (found === undefined) throw new CodedError('not_found', `The file ${at} does not exist.`, { field: 'file' })
    if (found.isDirectory()) {
      const listed = await listFolder(at, true)
      const found = listed.filter((file) => 'bytes' in file)
      const own = found.filter(({ file }) => isTable(file))
      const hasDocuments = found.length > own.length
      if (own.length === 0 && !hasDocuments)
        throw new CodedError(
          'corpus_invalid',
          `The folder ${at} holds neither tables (.tsv, .csv, .jsonl, .json, .parquet) nor documents (.md, .html, .pdf, .txt, .docx, .xlsx, .odt, .epub and others).`,
          { field: 'file' },
        )
      const paths = own.map(({ path }) => path).sort()
      tables.push(...paths)
      if (hasDocuments) {
        folders.push(at)
        for (const file of paths) if (/\.json$/i.test(file)) besideDocuments.add(file)
      } else leftOut.push(...listed.filter((file) => 'problem' in file))
    } else if (isArchive(at)) archives.push(at)
    else if (format !== undefined || (await isTableFile(at, columns !== undefined))) tables.push(at)
    else single.set(path.dirname(at), [...(single.get(path.dirname(at)) ?? []), path.basename(at)])
  }
  const named = [...single].map(([path, only]) => ({ path, only }))
  return { tables, besideDocuments, documents: [...folders.map((path) => ({ path })), ...named], archives, pages, leftOut }
}

/** Detects tables by name, or by the first line if the name is not specific. */
async function isTableFile(file: string, hasColumns: boolean): Promise<boolean> {
  if (isTable(file)) return true
  const head = await headOf(file)
  if (/\.(txt|text)$/i.test(file)) {
    if (hasColumns) return true
    const names = head
      .slice(0, head.search(/[\r\n]|$/))
      .toLowerCase()
      .split('\t')
    return names.includes('id') && names.includes('text')
  }
  return !isDocument(file) && !FOREIGN.test(head)
}

async function headOf(file: string): Promise<string> {
  const handle = await open(file)
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(1024), 0, 1024, 0)
    return buffer.subarray(0, bytesRead).toString('latin1')
  } finally {
    await handle.close()
  }
}
