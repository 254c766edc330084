import { Parser } from 'htmlparser2'
import { CodedError, reasonOf } from '../../base/errors.ts'
import { expanded } from '../../index/read/expand.ts'
import { LONGEST_ADDRESS, PageError, type CrawlLimits } from './contract.ts'

/** Contents of a sitemap (sitemaps.org, protocol 0.9): pages or further sitemaps. */
export type Sitemap = Awaited<ReturnType<typeof readSitemap>>

/** Maximum depth of elements: a sitemap has three levels, plus those of extensions. */
const MOST_NESTED = 32

/** Media types and names of sitemaps. */
export function isSitemap(mediaType: string, { pathname }: URL): boolean {
  return /^(?:application|text)\/xml\b/i.test(mediaType) || /\.xml(?:\.gz)?$/i.test(pathname)
}

/**
 * Parses a sitemap, optionally gzipped. Custom entities are not expanded.
 * @throws PageError for anything but a sitemap, too many bytes or entries, and a damaged gzip file
 */
export async function readSitemap(
  body: AsyncIterable<Buffer>,
  { sitemapBytes, sitemapEntries }: Pick<CrawlLimits, 'sitemapBytes' | 'sitemapEntries'>,
) {
  const found = new Locations()
  const parser = new Parser(found, { xmlMode: true })
  const decoder = new TextDecoder()
  let read = 0
  for await (const chunk of plain(body)) {
    read += chunk.length
    if (read > sitemapBytes) throw new PageError('too_large', `The sitemap has more than ${sitemapBytes} bytes.`)
    parser.write(decoder.decode(chunk, { stream: true }))
    if (found.addresses.length > sitemapEntries)
      throw new PageError('too_large', `The sitemap lists more than ${sitemapEntries} addresses.`)
  }
  parser.end(decoder.decode())
  const { kind, addresses } = found
  if (kind === undefined) throw new PageError('not_supported', 'It is XML, but no sitemap.')
  return { kind, addresses }
}

/** Collects `loc` elements directly inside `url` or `sitemap`, not those of images and videos. */
class Locations {
  readonly addresses: string[] = []
  kind: 'pages' | 'sitemaps' | undefined
  /** Prefix of the sitemap's namespace, with its colon. */
  #prefix = ''
  #open: string[] = []
  #text: string | undefined

  onopentag(name: string): void {
    if (this.#open.length === 0) {
      this.#prefix = name.slice(0, name.indexOf(':') + 1)
      const root = name.slice(this.#prefix.length)
      this.kind = root === 'urlset' ? 'pages' : root === 'sitemapindex' ? 'sitemaps' : undefined
    }
    const entry = this.#prefix + (this.kind === 'pages' ? 'url' : 'sitemap')
    if (this.kind !== undefined && this.#open.length === 2 && this.#open[1] === entry && name === `${this.#prefix}loc`) this.#text = ''
    if (this.#open.push(name) > MOST_NESTED) throw new PageError('damaged', `The sitemap is nested deeper than ${MOST_NESTED} elements.`)
  }

  ontext(text: string): void {
    if (this.#text !== undefined && this.#text.length <= LONGEST_ADDRESS) this.#text += text
  }

  onclosetag(): void {
    this.#open.pop()
    if (this.#text === undefined) return
    this.addresses.push(this.#text.trim())
    this.#text = undefined
  }
}

/** @throws PageError for damaged compression */
async function* plain(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* expanded(body)
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    throw new PageError('damaged', `The sitemap's compression is damaged (${reasonOf(error.cause)}).`, error)
  }
}
