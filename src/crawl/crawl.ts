import pLimit from 'p-limit'
import { at } from '../../base/at.ts'
import { checkedLookup } from './lookup.ts'
import { isSameSite, pageAddress } from './page-address.ts'
import { CRAWL_LIMITS, PageError, type CrawlLimits, type CrawlOptions, type CrawlSink } from './contract.ts'
import { createRobotsCache } from './robots.ts'
import { sendRequest, type PageResponse } from './request.ts'
import { isSitemap, readSitemap, type Sitemap } from './sitemap.ts'
import { createHostTurns, visit, type VisitOptions } from './visit.ts'

/** Media types of supported pages. */
const PAGE_TYPES =
  /^(?:text\/(?:html|plain|markdown|vtt)|application\/(?:xhtml\+xml|pdf|epub\+zip|msword|vnd\.openxmlformats-officedocument\.(?:wordprocessingml\.document|spreadsheetml\.sheet|presentationml\.presentation)|vnd\.oasis\.opendocument\.(?:text|spreadsheet|presentation)))$/
/** Unspecific types: the extension decides. */
const UNTOLD = /^(?:application\/(?:octet-stream|x-download)|binary\/octet-stream)?$/
const ENDING = /\.(?:html?|xhtml|md|markdown|txt|rst|adoc|org|tex|vtt|pdf|docx?|xlsx|pptx|od[tsp]|epub)$/i

/** Where an address was found: in the order, a sitemap index or a sitemap. */
type Origin = 'order' | 'index' | 'sitemap'

/**
 * Fetches pages, and those listed by sitemaps among the addresses. A page that cannot be fetched is reported to the sink with its reason.
 * @throws the signal's reason once aborted; errors of the sink
 */
export async function crawl(addresses: readonly string[], options: CrawlOptions, sink: CrawlSink): Promise<void> {
  await new Crawl(options, sink).run(addresses)
}

class Crawl {
  readonly #sink: CrawlSink
  readonly #limits: CrawlLimits
  readonly #visiting: VisitOptions
  readonly #onShare: (share: number) => void
  readonly #hostSlots
  /** Aborts the crawl after an error that is not caused by a page. */
  readonly #abort = new AbortController()
  /** Requested addresses, including those listed by sitemaps. */
  readonly #asked = new Set<string>()
  /** Final addresses, after redirects: each page is taken once. */
  readonly #taken = new Set<string>()
  #pages = 0
  /** Number of addresses listed by all sitemaps. */
  #entries = 0
  #done = 0
  #bytes = 0

  constructor({ rules, userAgent, signal: ending, limits, resolve, known, onShare }: CrawlOptions, sink: CrawlSink) {
    const signal = AbortSignal.any([ending, this.#abort.signal])
    this.#sink = sink
    this.#limits = { ...CRAWL_LIMITS, ...limits }
    this.#onShare = onShare ?? (() => undefined)
    this.#hostSlots = pLimit(this.#limits.hostsAtOnce)
    const lookup = checkedLookup(rules, resolve)
    const own = {
      'user-agent': userAgent,
      accept: 'text/html, text/markdown, text/plain, application/pdf, application/xml;q=0.9, */*;q=0.1',
    }
    const visiting = {
      rules,
      limits: this.#limits,
      atHost: createHostTurns({ delayMs: this.#limits.delayMs, signal }),
      send: (url: URL, headers: Readonly<Record<string, string>>) =>
        sendRequest(url, { rules, lookup, limits: this.#limits, headers: { ...own, ...headers }, signal }),
    }
    this.#visiting = { ...visiting, known, permit: createRobotsCache(visiting, at(userAgent.split('/'), 0)) }
  }

  async run(addresses: readonly string[]): Promise<void> {
    await Promise.all(addresses.map((address) => this.#address(address, 'order')))
    this.#abort.signal.throwIfAborted()
  }

  /** @param listedBy the sitemap that lists it */
  async #address(text: string, origin: Origin, listedBy?: URL): Promise<void> {
    try {
      const url = pageAddress(text)
      if (this.#asked.has(url.href)) return
      this.#asked.add(url.href)
      if (listedBy !== undefined && !isSameSite(listedBy, url))
        throw new PageError('not_allowed', `The sitemap of ${listedBy.host} lists a page of ${url.host}.`)
      if (origin !== 'index' && ++this.#pages > this.#limits.pages)
        throw new PageError('too_many', `${this.#limits.pages} pages are taken at most.`)
      const listed = await this.#hostSlots(() => this.#visit(url, origin))
      // Outside of the limit: each listed page counts against it itself.
      if (listed !== undefined) await this.#follow(listed.url, listed.sitemap, origin)
    } catch (error) {
      if (error instanceof PageError)
        this.#sink.leftOut({ url: text, problem: error.problem, detail: error.message, isListed: origin === 'sitemap' })
      else this.#abort.abort(error)
    } finally {
      this.#done++
      this.#onShare(Math.min(1, this.#done / Math.max(1, this.#asked.size)))
    }
  }

  /** Fetches a page. @returns the sitemap with its address if the response is a requested sitemap */
  async #visit(asked: URL, origin: Origin): Promise<{ readonly url: URL; readonly sitemap: Sitemap } | undefined> {
    const { url, result } = await visit(asked, this.#visiting, async (url, response) => {
      const { status } = response
      if (status === 304 && (await this.#visiting.known?.(url.href)) !== undefined) {
        if (this.#claim(url)) this.#sink.unchanged({ url: url.href, asked: asked.href })
        return undefined
      }
      if (status !== 200)
        throw new PageError(status === 404 || status === 410 ? 'not_found' : 'http_error', `The server answers ${status}.`)
      const { 'content-type': mediaType = '' } = response.headers
      if (origin !== 'sitemap' && (origin === 'index' || isSitemap(mediaType, url)))
        return readSitemap(response.body(this.#limits.sitemapBytes), this.#limits)
      const type = at(mediaType.split(';'), 0).trim().toLowerCase()
      const typeText = mediaType === '' ? 'no content type' : `the type ${mediaType.slice(0, 100)}`
      if (!PAGE_TYPES.test(type) && !(UNTOLD.test(type) && ENDING.test(url.pathname)))
        throw new PageError('not_supported', `Pages of ${typeText} are not read.`)
      if (this.#claim(url)) await this.#page(url, asked, response, mediaType)
      return undefined
    })
    return result === undefined ? undefined : { url, sitemap: result }
  }

  /** True for the first visit of a final address, since several addresses may redirect to it. */
  #claim({ href }: URL): boolean {
    const isFirst = !this.#taken.has(href)
    this.#taken.add(href)
    return isFirst
  }

  async #page(url: URL, asked: URL, response: PageResponse, mediaType: string): Promise<void> {
    const { etag, 'last-modified': modified } = response.headers
    const body = this.#counted(response.body(Math.min(this.#limits.pageBytes, this.#limits.totalBytes - this.#bytes)))
    await this.#sink.page({ url: url.href, asked: asked.href, mediaType, etag, modified, body })
  }

  async *#counted(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of body) {
      this.#bytes += chunk.length
      yield chunk
    }
  }

  async #follow(url: URL, { kind, addresses }: Sitemap, origin: Origin): Promise<void> {
    this.#entries += addresses.length
    const { sitemaps, sitemapEntries } = this.#limits
    if (this.#entries > sitemapEntries) throw new PageError('too_many', `Sitemaps may list ${sitemapEntries} addresses in all.`)
    if (kind === 'pages') {
      await Promise.all(addresses.map((address) => this.#address(address, 'sitemap', url)))
      return
    }
    if (origin === 'index') throw new PageError('not_supported', 'An index of sitemaps lists another index.')
    const detail = `${sitemaps} sitemaps of an index are read at most.`
    for (const url of addresses.slice(sitemaps)) this.#sink.leftOut({ url, problem: 'too_many', detail, isListed: false })
    await Promise.all(addresses.slice(0, sitemaps).map((address) => this.#address(address, 'index', url)))
  }
}
