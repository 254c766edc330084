import { LONGEST_ADDRESS, PageError, type CrawlRules } from './contract.ts'

/** True if a text begins like the address of a page. */
export function isPageAddress(text: string): boolean {
  return /^https?:\/\//i.test(text)
}

/**
 * Parses an address and removes its fragment.
 * @param base base of a relative address
 * @throws PageError unless it is an http or https address of allowed length without user name and password, which the message does not repeat
 */
export function pageAddress(text: string, base?: URL): URL {
  const url = text.length <= LONGEST_ADDRESS && URL.canParse(text, base?.href) ? new URL(text, base) : undefined
  if (url === undefined) throw new PageError('not_allowed', `It is no address, or has more than ${LONGEST_ADDRESS} characters.`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new PageError('not_allowed', `Addresses begin with http:// or https://, not with ${url.protocol}.`)
  if (url.username !== '' || url.password !== '')
    throw new PageError('not_allowed', 'The address has a user name or password in it: pages behind one are not fetched.')
  url.hash = ''
  if (url.href.length > LONGEST_ADDRESS) throw new PageError('not_allowed', `The address has more than ${LONGEST_ADDRESS} characters.`)
  return url
}

/** @throws PageError for a host or port that is not allowed */
export function checkAllowed({ host, port }: URL, { hosts, named }: CrawlRules): void {
  if (hosts !== undefined) {
    if (!hosts.includes(host)) throw new PageError('not_allowed', `${host} is not one of the hosts that may be fetched (CEPE_FETCH).`)
  } else if (port !== '' && !named.some((one) => URL.canParse(one) && new URL(one).host === host))
    throw new PageError('not_allowed', `Port ${port} of ${host} is asked for by name alone: give the address itself.`)
}

/** True if a sitemap may list the page: both have the same host, with or without www. */
export function isSameSite(a: URL, b: URL): boolean {
  const bare = ({ hostname }: URL): string => hostname.replace(/^www\./, '')
  return bare(a) === bare(b) && a.port === b.port
}
