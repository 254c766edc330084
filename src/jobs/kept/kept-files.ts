import { createHash } from 'node:crypto'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { sum } from '../../../base/at.ts'
import { makeFolder, syncPath, writeFileDurably } from '../../../base/durable.ts'
import { invalidIndex } from '../../../base/errors.ts'
import { orAbsent, readText } from '../../../base/exists.ts'
import { sha256OfFile } from '../../../base/files.ts'
import { parseSealed, sealed } from '../../../base/json.ts'
import { jobFiles } from '../../../index/ingest/plan/contract.ts'
import type { PassageIndex } from '../../../index/passage-index.ts'
import type { Job } from '../record/schema.ts'
import type { JobStore } from '../record/store.ts'
import { sourceOf, type FolderFile } from '../sources/list.ts'
import { listedBy } from '../sources/missing.ts'
import { isSpooled, listSpool } from '../sources/spool.ts'

const KeptSchema = Type.Object({
  table: Type.String(),
  source: Type.String(),
  /** SHA-256 of the content: the name of its file. */
  hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  bytes: Type.Integer({ minimum: 0 }),
  at: Type.Number(),
})
/** An uploaded file that is kept for the passages of its source. */
type Kept = Static<typeof KeptSchema>

/**
 * Uploaded files by table and source, deduplicated by content. Files are named by hashes, never by names from an upload. Only jobs write
 * here, one at a time.
 */
export class KeptFiles {
  readonly #folder: string

  constructor(jobsDir: string) {
    this.#folder = path.join(jobsDir, 'files')
  }

  contentPath({ hash }: Pick<Kept, 'hash'>): string {
    return path.join(this.#folder, 'content', hash)
  }

  async find(table: string, source: string): Promise<Kept | undefined> {
    const found = await this.#read(this.#record(table, source))
    return found?.table === table && found.source === source ? found : undefined
  }

  /** Moves a file here from the same file system, after its record is written: a missing file was kept by an earlier attempt. */
  async keep(table: string, source: string, { path: from, sha256 }: Pick<FolderFile, 'path' | 'sha256'>): Promise<void> {
    const size = await orAbsent(stat(from))
    if (size === undefined) return
    const kept: Kept = { table, source, hash: sha256 ?? (await sha256OfFile(from)), bytes: size.size, at: Date.now() }
    const content = this.contentPath(kept)
    await makeFolder(path.dirname(content))
    await writeFileDurably(this.#record(table, source), JSON.stringify(sealed(kept)))
    // Also if it is there: that file may be damaged.
    await rename(from, content)
    await syncPath(path.dirname(content))
  }

  async forget(table: string, source: string): Promise<void> {
    await rm(this.#record(table, source), { force: true })
  }

  /** Forgets the files of a table, except those of the sources present. */
  async forgetMissing(table: string, present: ReadonlySet<string> = new Set()): Promise<void> {
    for (const one of await this.list()) if (one.table === table && !present.has(one.source)) await this.forget(table, one.source)
  }

  /** All kept files, oldest upload first. */
  async list(): Promise<Kept[]> {
    const folder = path.join(this.#folder, 'sources')
    const names = (await orAbsent(readdir(folder))) ?? []
    const found = await Promise.all(names.filter((name) => name.endsWith('.json')).map((name) => this.#read(path.join(folder, name))))
    return found.filter((one) => one !== undefined).sort((a, b) => a.at - b.at)
  }

  /**
   * Evicts the oldest uploads until all contents fit into the limit, and removes unreferenced contents.
   * @returns the number of evicted files
   * @throws if a record cannot be read: its content may be needed
   */
  async fit(maxBytes: number): Promise<number> {
    const kept = await this.list()
    let evicted = 0
    while (bytesOf(kept) > maxBytes) {
      const oldest = kept.shift()
      if (oldest === undefined) break
      await this.forget(oldest.table, oldest.source)
      evicted++
    }
    const needed = new Set(kept.map(({ hash }) => hash))
    const contents = path.join(this.#folder, 'content')
    for (const hash of (await orAbsent(readdir(contents))) ?? [])
      if (!needed.has(hash)) await rm(path.join(contents, hash), { force: true })
    return evicted
  }

  #record(table: string, source: string): string {
    const key = createHash('sha256').update(`${table}\0${source}`).digest('hex')
    return path.join(this.#folder, 'sources', `${key}.json`)
  }

  async #read(record: string): Promise<Kept | undefined> {
    const text = await readText(record)
    if (text === undefined) return undefined
    const found = parseSealed(text)
    if (Value.Check(KeptSchema, found)) return found
    throw invalidIndex(record, `${record}, the record of a kept upload, is damaged: remove it, and upload the file again.`)
  }
}

/** Bytes of all contents, each counted once. */
function bytesOf(kept: readonly Kept[]): number {
  return sum([...new Map(kept.map(({ hash, bytes }) => [hash, bytes])).values()])
}

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
  const kept = new KeptFiles(store.dir)
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
      if (file.bytes <= maxBytes) await kept.keep(table, name, file)
      else {
        tooLarge++
        // A file kept from an earlier upload no longer matches the passages.
        await kept.forget(table, name)
      }
    }
  if (!isUpload) for (const name of await listedBy(store.folder(id))) await kept.forget(table, name)
  await kept.forgetMissing(table, present)
  return tooLarge + (await kept.fit(maxBytes))
}
