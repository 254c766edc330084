import type { LookupAddress } from 'node:dns'
import type { FileProblem } from '../../index/read/contract.ts'

/** A page that is not fetched, with the reason. */
export class PageError extends Error {
  readonly problem: FileProblem

  constructor(problem: FileProblem, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'PageError'
    this.problem = problem
  }
}

export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

/** Rules about addresses that may be fetched. */
export interface CrawlRules {
  /** Allowed hosts: `example.org` (default ports) or `example.org:8443`. Default: any. */
  readonly hosts?: readonly string[] | undefined
  /** Requested addresses: without `hosts`, their ports are allowed. */
  readonly named: readonly string[]
  readonly allowPrivate: boolean
}

/** Maxima of a crawl; bytes are counted after decompression. */
export const CRAWL_LIMITS = {
  pages: 2000,
  pageBytes: 32 * 2 ** 20,
  totalBytes: 64 * 2 ** 30,
  sitemapBytes: 50 * 2 ** 20,
  /** Addresses in all sitemaps. */
  sitemapEntries: 50_000,
  /** In a sitemap index. */
  sitemaps: 50,
  /** Bytes read of a robots.txt (RFC 9309, 2.5: at least 500 KiB). */
  robotsBytes: 500 * 2 ** 10,
  redirects: 5,
  headerBytes: 16 * 2 ** 10,
  /** Time limit of a complete response in milliseconds. */
  responseMs: 60_000,
  /** Delay in milliseconds between a host's response and the next request to it. */
  delayMs: 500,
  /** Hosts visited concurrently; requests to one host are sequential. */
  hostsAtOnce: 4,
}
export type CrawlLimits = Readonly<Record<keyof typeof CRAWL_LIMITS, number>>

/** Maximum characters of an address. */
export const LONGEST_ADDRESS = 1000

/** Validators of a page for conditional requests. */
export interface Validators {
  readonly etag?: string | undefined
  readonly modified?: string | undefined
}

/** A page being received. */
interface FetchedPage extends Validators {
  /** Final address, after redirects. */
  readonly url: string
  readonly asked: string
  /** Media type with parameters; empty if the server sends none. */
  readonly mediaType: string
  /** Decompressed body, limited in size. @throws PageError */
  readonly body: AsyncIterable<Buffer>
}

export interface LeftOutPage {
  readonly url: string
  readonly problem: FileProblem
  readonly detail: string
  /** Whether a sitemap lists it; any other may be a sitemap itself. */
  readonly isListed: boolean
}

/** Receives the results of a crawl. */
export interface CrawlSink {
  /** Must read the body completely. */
  readonly page: (page: FetchedPage) => Promise<void>
  /** Of a page that the server has not changed (304). */
  readonly unchanged: (page: Pick<FetchedPage, 'url' | 'asked'>) => void
  readonly leftOut: (page: LeftOutPage) => void
}

export interface CrawlOptions {
  readonly rules: CrawlRules
  /** Name and version. The name selects the rules of a robots.txt. */
  readonly userAgent: string
  readonly signal: AbortSignal
  readonly limits?: Partial<CrawlLimits>
  /** Resolves host names. Default: the system's resolver. */
  readonly resolve?: Resolve | undefined
  /** Returns the validators of a known page, for a conditional request. */
  readonly known?: (url: string) => Promise<Validators | undefined>
  /** Called with the share of pages requested so far, 0 to 1. */
  readonly onShare?: (share: number) => void
}
