import { basename } from 'node:path'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { writeFileDurably } from '../../../base/durable.ts'
import { CodedError, invalidRequest } from '../../../base/errors.ts'
import { readText } from '../../../base/exists.ts'
import { parseSealed, sealed } from '../../../base/json.ts'
import { jobFiles } from '../../../index/ingest/plan/contract.ts'
import type { PassageIndex } from '../../../index/passage-index.ts'
import { prefixOf } from '../../../index/read/row-ids.ts'
import type { Job, JobOptions } from '../record/schema.ts'
import type { JobStore } from '../record/store.ts'
import { sourceOf, type ListedFile } from './list.ts'

const ListedSchema = Type.Object({
  /** Sources of all files found, including those left out. */
  sources: Type.Array(Type.String()),
  /** Source prefixes of unreadable folders: their files are not known to be missing. */
  unseen: Type.Array(Type.String()),
  /** Sources of files that are readable and have no passage. */
  emptied: Type.Optional(Type.Array(Type.String())),
  /** Not recorded by earlier software. */
  job: Type.Optional(Type.String()),
})
type Listed = Static<typeof ListedSchema>

const SOURCES_PER_QUERY = 50

/** Records the files that a job found, for later jobs of the same folder. */
export async function noteFiles(jobFolder: string, files: readonly ListedFile[], label: string | undefined): Promise<void> {
  const unseen = files.filter((file) => 'problem' in file && file.problem === 'unreadable')
  await noteListed(jobFolder, {
    sources: files.map(({ file }) => sourceOf(file, label)),
    unseen: unseen.map(({ file }) => `${sourceOf(file, label)}/`),
  })
}

export async function noteListed(jobFolder: string, listed: Listed): Promise<void> {
  await writeFileDurably(jobFiles(jobFolder).listed, JSON.stringify(sealed({ ...listed, job: basename(jobFolder) })))
}

/** Checks that earlier jobs of the same files can be identified. @throws invalid_request */
export function checkDeleteMissing({ files, path }: Pick<Job['source'], 'files' | 'path'>, { delete_missing: wanted, label }: JobOptions) {
  if (wanted !== true) return
  const problem =
    files === undefined
      ? 'is for documents: a table is replaced with replace'
      : files.only !== undefined
        ? 'is for whole folders: files are named one by one here'
        : path === null && label === undefined && files.web === undefined
          ? 'needs a label with an upload, which says which files belong together'
          : undefined
  if (problem !== undefined) throw invalidRequest('delete_missing', `delete_missing ${problem}.`)
}

/**
 * Deletes passages of files that have none any more and, with `delete_missing`, of those that earlier jobs of the same folder (for uploads:
 * of the same label) found and this one did not. Passages of tables are never deleted.
 */
export async function deleteMissing(job: Job, { index, store }: { readonly index: PassageIndex; readonly store: JobStore }) {
  const now = await requireListed(store.folder(job.id))
  const present = new Set(now.sources)
  const gone = new Set(now.emptied)
  for (const earlier of job.options.delete_missing === true ? await store.list() : []) {
    if (earlier.id >= job.id || !isOfSameFiles(earlier, job)) continue
    for (const source of await listedBy(store.folder(earlier.id)))
      if (!present.has(source) && !now.unseen.some((folder) => source.startsWith(folder))) gone.add(source)
  }
  let passages = 0
  const files = new Set<string>()
  const sources = [...gone]
  for (let from = 0; from < sources.length; from += SOURCES_PER_QUERY) {
    const ids: string[] = []
    for await (const { id, source = '' } of index.export({ source: sources.slice(from, from + SOURCES_PER_QUERY) }))
      if (id.startsWith(prefixOf(source))) {
        ids.push(id)
        files.add(source)
      }
    passages += await index.delete(ids)
  }
  return { files: files.size, passages }
}

function isOfSameFiles(a: Job, b: Job): boolean {
  return (
    a.table === b.table &&
    a.source.files !== undefined &&
    a.source.path === b.source.path &&
    a.options.label === b.options.label &&
    JSON.stringify(a.source.files.web?.urls) === JSON.stringify(b.source.files?.web?.urls) &&
    // Without a path, uploads are identified by their label and web pages by their URLs.
    (a.source.path !== null || a.options.label !== undefined || a.source.files.web !== undefined)
  )
}

/** Sources of the files that a job found; none if it did not get there. @throws store_unavailable for a damaged list */
export async function listedBy(jobFolder: string): Promise<readonly string[]> {
  return (await readListed(jobFolder))?.sources ?? []
}

/** @throws store_unavailable for a lost or damaged list, without which every file would count as missing */
export async function requireListed(jobFolder: string): Promise<Listed> {
  return (await readListed(jobFolder)) ?? refuse(jobFolder, 'is missing: start a new job')
}

async function readListed(jobFolder: string): Promise<Listed | undefined> {
  const text = await readText(jobFiles(jobFolder).listed)
  if (text === undefined) return undefined
  const found = parseSealed(text)
  const isOwn = Value.Check(ListedSchema, found) && (found.job ?? basename(jobFolder)) === basename(jobFolder)
  return isOwn ? found : refuse(jobFolder, 'is damaged, or that of another job: put its copy back, or remove it')
}

function refuse(jobFolder: string, problem: string): never {
  throw new CodedError('store_unavailable', `${jobFiles(jobFolder).listed}, which lists the files that a job found, ${problem}.`)
}
