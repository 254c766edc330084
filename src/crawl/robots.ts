import { keptOrMade } from '../../base/at.ts'
import { PageError } from './contract.ts'
import { visit, type VisitOptions } from './visit.ts'

/** Rules of a robots.txt for one crawler: the Robots Exclusion Protocol (RFC 9309). */
type Robots = ReturnType<typeof parseRobots>

interface Rule {
  readonly allow: boolean
  readonly pattern: string
}

/**
 * Parses a robots.txt. The groups that name the crawler are merged; without any, those of `*` apply (2.2.1). The longest matching rule
 * wins; of equally long ones, the one that allows (2.2.2).
 * @param product name of the crawler, without its version
 * @returns whether it may fetch an address
 */
function parseRobots(text: string, product: string) {
  const groups = new Map<string, Rule[]>()
  let agents: string[] = []
  let isHead = false
  for (const line of text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/)) {
    const [, key = '', value = ''] = /^\s*([a-z-]+)\s*:\s*([^#]*)/i.exec(line) ?? []
    const name = key.toLowerCase()
    if (name === 'user-agent') {
      if (!isHead) agents = []
      isHead = true
      // Its product token.
      agents.push(value.trim() === '*' ? '*' : (/^[a-z_-]+/i.exec(value.trim())?.[0].toLowerCase() ?? ''))
      for (const agent of agents) groups.set(agent, groups.get(agent) ?? [])
    } else if (name === 'allow' || name === 'disallow') {
      isHead = false
      const pattern = normalised(value.trim())
      if (pattern !== '') for (const agent of agents) groups.get(agent)?.push({ allow: name === 'allow', pattern })
    }
  }
  const rules = groups.get(product.toLowerCase()) ?? groups.get('*') ?? []
  return ({ pathname, search }: URL) => pathname === '/robots.txt' || isAllowed(normalised(pathname + search), rules)
}

function isAllowed(path: string, rules: readonly Rule[]): boolean {
  let best: Rule = { allow: true, pattern: '' }
  for (const rule of rules) {
    if (rule.pattern.length < best.pattern.length || !matches(path, rule.pattern)) continue
    if (rule.pattern.length > best.pattern.length || rule.allow) best = rule
  }
  return best.allow
}

/** Matches a pattern: `*` stands for any characters, a final `$` for the end of the path. Linear time per part between stars. */
function matches(path: string, pattern: string): boolean {
  const isAnchored = pattern.endsWith('$')
  const [first = '', ...parts] = (isAnchored ? pattern.slice(0, -1) : pattern).split('*')
  if (!path.startsWith(first)) return false
  let from = first.length
  const last = isAnchored ? parts.pop() : undefined
  for (const part of parts) {
    const at = path.indexOf(part, from)
    if (at < 0) return false
    from = at + part.length
  }
  if (!isAnchored) return true
  return last === undefined ? from === path.length : path.length - last.length >= from && path.endsWith(last)
}

/** Normalizes percent-encoding (RFC 3986), so that equivalent paths compare equal. */
function normalised(path: string): string {
  return path
    .replace(/%([0-9a-f]{2})/gi, (escaped, hex: string) => {
      const character = String.fromCharCode(parseInt(hex, 16))
      return /[\w.~-]/.test(character) ? character : escaped.toUpperCase()
    })
    .replace(/[^\u0021-\u007e]+/g, (run) => encodeURIComponent(run))
}

/**
 * Fetches the robots.txt of each site once. A missing one (4xx) allows everything, an unavailable one (5xx, no response) nothing
 * (RFC 9309, 2.3.1).
 * @param product name of the crawler
 */
export function createRobotsCache(options: Omit<VisitOptions, 'permit' | 'known'>, product: string): (url: URL) => Promise<void> {
  const sites = new Map<string, Promise<Robots>>()
  return async (url) => {
    const allows = await keptOrMade(sites, url.origin, () => fetchRobots(new URL('/robots.txt', url), options, product))
    if (!allows(url)) throw new PageError('robots', `The robots.txt of ${url.host} disallows it.`)
  }
}

async function fetchRobots(url: URL, options: Omit<VisitOptions, 'permit' | 'known'>, product: string): Promise<Robots> {
  const { result } = await visit(url, options, async (_, response) => {
    const { status } = response
    if (status >= 400 && status < 500) return parseRobots('', product)
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
