import { rm } from 'node:fs/promises'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { writeFileDurably } from '../../../base/durable.ts'
import { CodedError, invalidRequest, onCode, orThrow } from '../../../base/errors.ts'
import { readText } from '../../../base/exists.ts'
import { parseSealed, sealed } from '../../../base/json.ts'
import { jobFiles } from '../../../index/ingest/plan/contract.ts'
import type { PassageIndex } from '../../../index/passage-index.ts'
import { PageError, type CrawlOptions, type LeftOutPage, type Validators } from '../../crawl/contract.ts'
import { crawl } from '../../crawl/crawl.ts'
import { checkLiteral } from '../../crawl/lookup.ts'
import { checkAllowed, pageAddress } from '../../crawl/page-address.ts'
import { noteListed } from './missing.ts'
import type { FileBounds } from './read.ts'
import type { Job, WebSource } from '../record/schema.ts'
import type { JobStore } from '../record/store.ts'
import { FileSpool, isSpooled } from './spool.ts'

export type CrawlSettings = Pick<CrawlOptions, 'userAgent' | 'resolve' | 'limits'>

export const DEFAULT_CRAWL: CrawlSettings = { userAgent: 'cepe-qa' }

interface PageFetching {
  readonly settings: CrawlSettings
  readonly bounds: FileBounds
  readonly signal: AbortSignal
  readonly onShare?: (share: number) => void
}

const PageRecordsSchema = Type.Array(
  Type.Object({
    url: Type.String(),
    /** Requested address, before redirects. */
    asked: Type.String(),
    etag: Type.Optional(Type.String()),
    modified: Type.Optional(Type.String()),
  }),
)
type PageRecord = Static<typeof PageRecordsSchema>[number]

/** Fetches pages, and those listed by sitemaps, into a spool that the caller finishes. @param known returns validators of earlier pages */
export async function fetchInto(
  spool: FileSpool,
  { urls, hosts, private: withPrivate }: WebSource,
  { settings, bounds, signal, onShare }: PageFetching,
  known?: (url: string) => Promise<Validators | undefined>,
) {
  const pages: PageRecord[] = []
  const leftOut: LeftOutPage[] = []
  const limits = { ...settings.limits, pageBytes: bounds.maxBytes }
  const rules = { hosts, named: urls, allowPrivate: withPrivate === true }
  await crawl(
    urls,
    { ...settings, rules, limits, signal, ...(known && { known }), ...(onShare && { onShare }) },
    {
      page: async ({ url, asked, mediaType, etag, modified, body }) => {
        await spool.keep(url, body, { mediaType, modified: modified === undefined ? undefined : new Date(modified) })
        pages.push({ url, asked, ...(etag !== undefined && { etag }), ...(modified !== undefined && { modified }) })
      },
      unchanged: ({ url, asked }) => {
        spool.leaveUnchanged(url)
        pages.push({ url, asked })
      },
      leftOut: (page) => {
        spool.leaveOut(page.url, page.problem, page.detail)
        leftOut.push(page)
      },
    },
  )
  return { pages, leftOut }
}

/** Fetches the pages of a job into its folder, unless an earlier run has. */
export async function fetchPages(
  job: Job,
  web: WebSource,
  { index, store, ...fetching }: PageFetching & { readonly index: PassageIndex; readonly store: JobStore },
): Promise<void> {
  const { uploads, fetched } = jobFiles(store.folder(job.id))
  if (await isSpooled(uploads)) return
  await rm(uploads, { recursive: true, force: true })
  const { validators, ledTo } = await earlierPages(job, store)
  const known = async (url: string): Promise<Validators | undefined> => {
    const found = job.options.replace === true ? undefined : validators.get(url)
    return found !== undefined && (await hasPassages(index, url)) ? found : undefined
  }
  const spool = new FileSpool(uploads)
  const { pages, leftOut } = await fetchInto(spool, web, fetching, known)
  const records = pages.map((page) => ((page.etag ?? page.modified) === undefined ? { ...page, ...validators.get(page.url) } : page))
  await writeFileDurably(fetched, JSON.stringify(sealed({ list: records })))
  await noteListed(store.folder(job.id), listedOf({ pages, leftOut }, ledTo))
  await spool.finish()
}

/**
 * Existing pages, for `delete_missing`: a page is missing if its server responds with not found. A requested address that cannot be
 * fetched may be a sitemap: then no page counts as missing.
 */
function listedOf({ pages, leftOut }: Awaited<ReturnType<typeof fetchInto>>, ledTo: ReadonlyMap<string, string>) {
  const there = leftOut.filter(({ problem }) => problem !== 'not_found')
  return {
    sources: [...pages, ...there].map(({ url }) => url).concat(there.flatMap(({ url }) => ledTo.get(url) ?? [])),
    unseen: there.some(({ isListed }) => !isListed) ? [''] : [],
  }
}

async function hasPassages(index: PassageIndex, source: string): Promise<boolean> {
  const listed = index.list({ filter: { source: [source] }, limit: 1 })
  const found = await listed.catch(onCode(['index_missing'], () => []))
  return found.length > 0
}

/** Reads the pages fetched by earlier jobs of the table. Validators of jobs that did not succeed are not used. */
async function earlierPages(job: Job, store: JobStore) {
  /** Validators by address, for pages whose passages would be the same. */
  const validators = new Map<string, Validators>()
  /** Final address by requested address. */
  const ledTo = new Map<string, string>()
  for (const earlier of await store.list()) {
    if (earlier.id >= job.id || earlier.table !== job.table || earlier.source.files?.web === undefined) continue
    // The options that determine a page's passages.
    const isCutAlike = (['split_words', 'no_metadata'] as const).every((name) => earlier.options[name] === job.options[name])
    const isSame = earlier.state === 'done' && isCutAlike
    for (const { url, asked, etag, modified } of await recordsOf(store.folder(earlier.id), job.options)) {
      ledTo.set(asked, url)
      if (isSame && (etag !== undefined || modified !== undefined)) validators.set(url, { etag, modified })
      else validators.delete(url)
    }
  }
  return { validators, ledTo }
}

/** @throws store_unavailable for a damaged list with `delete_missing`: pages that it does not map to their addresses would count as missing */
async function recordsOf(jobFolder: string, { delete_missing: deletes }: Job['options']): Promise<readonly PageRecord[]> {
  const { fetched } = jobFiles(jobFolder)
  const found = parseSealed((await readText(fetched)) ?? '[]')
  if (Value.Check(PageRecordsSchema, found)) return found
  if (deletes !== true) return []
  const message = `${fetched}, which lists the pages that a job fetched, is damaged: put its copy back, or index once without delete_missing and remove it.`
  throw new CodedError('store_unavailable', message)
}

export const MOST_ADDRESSES = 100

/**
 * Validates and normalizes the addresses of a job. Host names are resolved and checked only when fetched.
 * @throws invalid_request for an invalid address, forbidden for one that may not be fetched
 */
export function checkedAddresses({ urls, hosts, private: withPrivate }: WebSource): string[] {
  const allowPrivate = withPrivate === true
  if (urls.length === 0 || urls.length > MOST_ADDRESSES)
    throw invalidRequest('urls', `Give 1 to ${MOST_ADDRESSES} addresses; a sitemap names as many pages as it likes.`)
  return urls.map((text) => {
    const url = orRefused('invalid_request', () => pageAddress(text))
    orRefused('forbidden', () => {
      checkAllowed(url, { hosts, named: urls, allowPrivate })
      checkLiteral(url.hostname, { allowPrivate })
    })
    return url.href
  })
}

function orRefused<Result>(code: 'invalid_request' | 'forbidden', check: () => Result): Result {
  return orThrow(check, (error) =>
    error instanceof PageError ? new CodedError(code, error.message, { field: 'urls', cause: error }) : error,
  )
}
