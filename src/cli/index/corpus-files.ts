import { stat } from 'node:fs/promises'
import path from 'node:path'
import { invalidCorpus, notFound } from '../../../base/errors.ts'
import { headOf } from '../../../base/files.ts'
import { isPageAddress } from '../../crawl/page-address.ts'
import type { ReadingOptions } from './reading-options.ts'
import { ARCHIVE, isDocument, TABLE, listFolder, type LeftOutFile } from '../../jobs/sources/list.ts'

/** A part of a corpus that becomes a job. */
export type Source =
  /** A passage file. JSON files next to documents may have other contents. */
  | { readonly kind: 'table'; readonly path: string; readonly besideDocuments?: boolean }
  /** A folder of documents, or documents in a folder. */
  | { readonly kind: 'documents'; readonly path: string; readonly only?: readonly string[] }
  | { readonly kind: 'archive'; readonly path: string }
  /** All addresses of pages and sitemaps. */
  | { readonly kind: 'pages'; readonly path: string; readonly urls: string[] }

/** The corpus of a command's arguments. */
export interface Corpus {
  readonly sources: readonly Source[]
  /** Unsupported files in folders without documents. */
  readonly leftOut: readonly LeftOutFile[]
}

/** Beginnings of files that are no tables: ZIP (DOCX, XLSX), Microsoft's older container, PDF, images, RTF, XML. */
const FOREIGN = /^(?:PK\x03\x04|\xd0\xcf\x11\xe0|%PDF-|\x89PNG|\xff\xd8\xff|GIF8|\{\\rtf|(?:\xef\xbb\xbf)?\s*<)/
/** A first line that may be one of a table or of JSON, or is compressed. */
const MAY_BE_TABLE = /^\s*[^\r\n]*(?:[\t,;\0-\x08\x0e-\x1f]|\xb5\x2f\xfd)|^(?:\xef\xbb\xbf)?\s*[[{]/

/**
 * Expands arguments to tables and documents: files as given, folders recursively, sorted by name.
 * @param options with a format, every file is a table; with columns, one with an unknown extension
 * @throws not_found for a missing argument, corpus_invalid for a folder with neither
 */
export async function corpusFiles(
  given: readonly string[],
  { format, columns }: Pick<ReadingOptions, 'format' | 'columns'>,
): Promise<Corpus> {
  const tables: Source[] = []
  const folders: Source[] = []
  const single = new Map<string, string[]>()
  const archives: Source[] = []
  const leftOut: LeftOutFile[] = []
  const urls = given.filter(isPageAddress)
  for (const name of given) {
    if (isPageAddress(name)) continue
    const at = path.resolve(name)
    const found = await stat(at).catch(() => undefined)
    if (found === undefined) throw notFound('file', `The file ${at} does not exist.`)
    if (found.isDirectory()) {
      const listed = await listFolder(at, true)
      const found = listed.filter((file) => 'bytes' in file)
      const own = found.filter(({ file }) => TABLE.test(file))
      const hasDocuments = found.length > own.length
      const neither = `The folder ${at} holds neither tables (.tsv, .csv, .jsonl, .json, .parquet) nor documents (.md, .html, .pdf, .txt, .docx, .xlsx, .odt, .epub and others).`
      if (own.length === 0 && !hasDocuments) throw invalidCorpus('file', neither)
      const paths = own.map(({ path }) => path).sort()
      for (const path of paths) tables.push({ kind: 'table', path, besideDocuments: hasDocuments && /\.json$/i.test(path) })
      if (hasDocuments) folders.push({ kind: 'documents', path: at })
      else leftOut.push(...listed.filter((file) => 'problem' in file))
    } else if (ARCHIVE.test(at)) archives.push({ kind: 'archive', path: at })
    else if (format !== undefined || (await isTableFile(at, columns !== undefined))) tables.push({ kind: 'table', path: at })
    else single.set(path.dirname(at), [...(single.get(path.dirname(at)) ?? []), path.basename(at)])
  }
  const documents = [...single].map(([path, only]) => ({ kind: 'documents' as const, path, only }))
  const pages = urls.slice(0, 1).map((path) => ({ kind: 'pages' as const, path, urls }))
  return { sources: [...tables, ...folders, ...documents, ...archives, ...pages], leftOut }
}

/** Detects tables by name, or by the first line if the name is not specific. */
async function isTableFile(file: string, hasColumns: boolean): Promise<boolean> {
  if (TABLE.test(file)) return true
  const head = (await headOf(file, 1024)).toString('latin1')
  if (/\.(txt|text)$/i.test(file)) {
    if (hasColumns) return true
    const names = head
      .toLowerCase()
      .split(/[\r\n]/, 1)
      .join()
      .split('\t')
    return names.includes('id') && names.includes('text')
  }
  return !isDocument(file) && !FOREIGN.test(head) && (hasColumns || MAY_BE_TABLE.test(head))
}
