import { ALLOW_ALL, parseRobots, type Robots } from './robots.ts'
import { PageError } from './contract.ts'
import { visit, type VisitOptions } from './visit.ts'

/**
 * Fetches the robots.txt of each site once. A missing one (4xx) allows everything, an unavailable one (5xx, no response) nothing
 * (RFC 9309, 2.3.1).
 * @param product name of the crawler
 */
export function createRobotsCache(options: Omit<VisitOptions, 'permit' | 'known'>, product: string): (url: URL) => Promise<void> {
  const sites = new Map<string, Promise<Robots>>()
  return async (url) => {
    const robots = sites.get(url.origin) ?? fetchRobots(new URL('/robots.txt', url), options, product)
    sites.set(url.origin, robots)
    if (!(await robots).allows(url)) throw new PageError('robots', `The robots.txt of ${url.host} disallows it.`)
  }
}

async function fetchRobots(url: URL, options: Omit<VisitOptions, 'permit' | 'known'>, product: string): Promise<Robots> {
  const { result } = await visit(url, options, async (_, response) => {
    const { status } = response
    if (status >= 400 && status < 500) return ALLOW_ALL
    if (status !== 200)
      throw new PageError('robots', `The robots.txt of ${url.host} cannot be had (${status}): nothing is taken from there.`)
    const { robotsBytes } = options.limits
    const read: Buffer[] = []
    let bytes = 0
    // Only the first bytes are parsed; a body may be far longer.
    for await (const chunk of response.body(Infinity)) {
      read.push(chunk)
      bytes += chunk.length
      if (bytes >= robotsBytes) break
    }
    return parseRobots(Buffer.concat(read).subarray(0, robotsBytes).toString(), product)
  })
  return result
}
