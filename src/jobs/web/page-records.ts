import { readFile } from 'node:fs/promises'
import { Type, type Static } from '#typebox'
import { Value } from '#typebox/value'
import { parseJson } from '../../../base/json.ts'
import { jobFiles } from '../../../index/ingest/plan/job-files.ts'
import type { Validators } from '../../crawl/contract.ts'
import type { Job, JobOptions } from '../schema.ts'
import type { JobStore } from '../store.ts'

/** Record of the pages that a job fetched. */
export const PageRecordsSchema = Type.Array(
  Type.Object({
    url: Type.String(),
    /** Requested address, before redirects. */
    asked: Type.String(),
    etag: Type.Optional(Type.String()),
    modified: Type.Optional(Type.String()),
  }),
)
export type PageRecord = Static<typeof PageRecordsSchema>[number]

/** Pages fetched by earlier jobs. */
export interface EarlierPages {
  /** Validators by address, for pages whose passages would be the same. */
  readonly validators: ReadonlyMap<string, Validators>
  /** Final address by requested address. */
  readonly ledTo: ReadonlyMap<string, string>
}

/** Reads the pages fetched by earlier jobs of the table. Validators of jobs that did not succeed are not used. */
export async function earlierPages(job: Job, store: JobStore): Promise<EarlierPages> {
  const validators = new Map<string, Validators>()
  const ledTo = new Map<string, string>()
  for (const earlier of await store.list()) {
    if (earlier.id >= job.id || earlier.table !== job.table || earlier.source.files?.web === undefined) continue
    const isSame = earlier.state === 'done' && cutOf(earlier.options) === cutOf(job.options)
    for (const { url, asked, etag, modified } of await recordsOf(store.folder(earlier.id))) {
      ledTo.set(asked, url)
      if (isSame && (etag !== undefined || modified !== undefined)) validators.set(url, { etag, modified })
      else validators.delete(url)
    }
  }
  return { validators, ledTo }
}

/** Key of the options that determine a page's passages. */
function cutOf({ split_words: words, no_metadata: none }: JobOptions): string {
  return JSON.stringify([words, none])
}

async function recordsOf(jobFolder: string): Promise<readonly PageRecord[]> {
  const found = parseJson(await readFile(jobFiles(jobFolder).fetched, 'utf8').catch(() => ''))
  return Value.Check(PageRecordsSchema, found) ? found : []
}
