import { open, readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { CodedError } from '../../base/errors.ts'
import { isArchive } from '../jobs/upload/archive-name.ts'
import { isDocument, isTable, listFolder, type LeftOutFile } from '../jobs/folder/list.ts'

/** What arguments name. */
export interface Corpus {
  /** Files of passages: each becomes a job. */
  readonly tables: readonly string[]
  /** Folders of documents, or documents in a folder: each becomes a job. */
  readonly documents: readonly { readonly path: string; readonly only?: readonly string[] }[]
  /** Archives of documents and tables: each becomes a job. */
  readonly archives: readonly string[]
  /** What stands in folders that have no documents, and is no table. */
  readonly leftOut: readonly LeftOutFile[]
}

/** First bytes of files that are no tables: ZIP (DOCX, XLSX), Microsoft's older container, PDF, images, RTF. */
const FOREIGN = /^(?:PK\x03\x04|\xd0\xcf\x11\xe0|%PDF-|\x89PNG|\xff\xd8\xff|GIF8|\{\\rtf)/

/** What an order says of its tables. */
export interface TableOrder {
  /** Then every file is a table. */
  readonly format?: string | undefined
  /** Then a file is one where its name does not tell. */
  readonly columns?: string | undefined
}

/**
 * The tables and documents that arguments name: files as they are, folders as what is in them and below, in the order of their names.
 * @throws not_found for an argument that is nothing, corpus_invalid for a folder with neither
 */
export async function corpusFiles(given: readonly string[], { format, columns }: TableOrder = {}): Promise<Corpus> {
  const tables: string[] = []
  const folders: string[] = []
  const single = new Map<string, string[]>()
  const leftOut: LeftOutFile[] = []
  const archives: string[] = []
  for (const name of given) {
    const at = path.resolve(name)
    const found = await stat(at).catch(() => undefined)
    if (found === undefined) throw new CodedError('not_found', `The file ${at} does not exist.`, { field: 'file' })
    if (found.isDirectory()) {
      const inside = (await readdir(at, { recursive: true })).filter(isVisible)
      const own = inside.filter(isTable).sort()
      const listed = await listFolder(at)
      const hasDocuments = listed.some((file) => 'bytes' in file)
      if (own.length === 0 && !hasDocuments)
        throw new CodedError(
          'corpus_invalid',
          `The folder ${at} holds neither tables (.tsv, .csv, .jsonl, .json, .parquet) nor documents (.md, .html, .pdf, .txt, .docx, .epub).`,
          { field: 'file' },
        )
      tables.push(...own.map((file) => path.join(at, file)))
      if (hasDocuments) folders.push(at)
      else leftOut.push(...listed.filter((file) => 'problem' in file))
    } else if (isArchive(at)) archives.push(at)
    else if (format !== undefined || (await isTableFile(at, columns !== undefined))) tables.push(at)
    else single.set(path.dirname(at), [...(single.get(path.dirname(at)) ?? []), path.basename(at)])
  }
  const named = [...single].map(([path, only]) => ({ path, only }))
  return { tables, documents: [...folders.map((path) => ({ path })), ...named], archives, leftOut }
}

/** Nothing in a hidden folder. */
function isVisible(file: string): boolean {
  return !file.split(path.sep).some((part) => part.startsWith('.'))
}

/** A file is a table by its name, or by its first line where its name says nothing, or only that it is text. */
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
