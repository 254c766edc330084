import { setTimeout as sleep } from 'node:timers/promises'
import pLimit, { type LimitFunction } from 'p-limit'
import { checkAllowed, pageAddress } from './page-address.ts'
import { PageError, type CrawlLimits, type CrawlRules, type Validators } from './contract.ts'
import type { PageResponse } from './request.ts'

/** Runs work at a host when it is the host's turn. */
type AtHost = <Result>(host: string, work: () => Promise<Result>) => Promise<Result>

export interface VisitOptions {
  readonly rules: CrawlRules
  readonly limits: CrawlLimits
  readonly atHost: AtHost
  readonly send: (url: URL, headers: Readonly<Record<string, string>>) => Promise<PageResponse>
  /** Checks robots.txt. @throws PageError if the address is disallowed, or robots.txt is unavailable */
  readonly permit?: (url: URL) => Promise<void>
  readonly known?: ((url: string) => Promise<Validators | undefined>) | undefined
}

const REDIRECTS = [301, 302, 303, 307, 308]

/**
 * Requests an address and follows its redirects; each target is checked like the first address.
 * @param take receives the final response; the next request to its host waits for it
 * @returns the final address, after redirects, and what `take` made of its response
 * @throws PageError; errors of `take`
 */
export async function visit<Result>(
  asked: URL,
  { rules, limits, atHost, send, permit, known }: VisitOptions,
  take: (url: URL, response: PageResponse) => Promise<Result>,
): Promise<{ readonly url: URL; readonly result: Result }> {
  const seen = new Set<string>()
  let url = asked
  for (let redirects = 0; ; redirects++) {
    if (seen.has(url.href)) throw new PageError('redirect', `It redirects in a circle, by ${url.href}.`)
    if (redirects > limits.redirects) throw new PageError('redirect', `It redirects more than ${limits.redirects} times.`)
    seen.add(url.href)
    checkAllowed(url, rules)
    await permit?.(url)
    const { etag, modified } = (await known?.(url.href)) ?? {}
    const changed = modified === undefined ? {} : { 'if-modified-since': modified }
    const headers = etag === undefined ? changed : { 'if-none-match': etag }
    const at = url
    const outcome = await atHost(at.host, async () => {
      const response = await send(at, headers)
      try {
        return REDIRECTS.includes(response.status) ? nextOf(at, response) : { result: await take(at, response) }
      } finally {
        response.end()
      }
    })
    if ('result' in outcome) return { url, result: outcome.result }
    url = outcome.next
  }
}

function nextOf(from: URL, { status, headers: { location } }: PageResponse): { readonly next: URL } {
  if (location === undefined) throw new PageError('redirect', `It answers ${status} without saying where to.`)
  const next = pageAddress(location, from)
  if (from.protocol === 'https:' && next.protocol !== 'https:')
    throw new PageError('redirect', `It redirects from https to ${next.href}, where the page could be changed on its way.`)
  return { next }
}

/** Serializes work per host, with a delay before all but the first. */
export function createHostTurns({ delayMs, signal }: { readonly delayMs: number; readonly signal: AbortSignal }): AtHost {
  const hosts = new Map<string, LimitFunction>()
  return (host, work) => {
    const known = hosts.get(host)
    const turns = known ?? pLimit(1)
    hosts.set(host, turns)
    return turns(async () => {
      if (known !== undefined && delayMs > 0) await sleep(delayMs, undefined, { signal })
      signal.throwIfAborted()
      return work()
    })
  }
}
