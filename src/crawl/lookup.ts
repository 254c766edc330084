import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { PageError, type CrawlRules, type Resolve } from './contract.ts'

/** Loopback, private networks (RFC 1918) and those of carriers (RFC 6598). */
const PRIVATE_4 = listOf('ipv4', '10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16')
/** Other addresses that are not globally reachable (IANA, IPv4 Special-Purpose Address Registry): link-local, documentation, multicast and so on. */
const SPECIAL_4 = listOf(
  'ipv4',
  '0.0.0.0/8 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
)
/** Loopback and unique local addresses (RFC 4193). */
const PRIVATE_6 = listOf('ipv6', '::1/128 fc00::/7')
/** Global unicast. IPv4-mapped, NAT64, link-local and multicast addresses are outside of it. */
const GLOBAL_6 = listOf('ipv6', '2000::/3')
/** Exceptions: Teredo and other protocols, documentation, 6to4. */
const SPECIAL_6 = listOf('ipv6', '2001::/23 2001:db8::/32 2002::/16 3fff::/20')

function listOf(family: 'ipv4' | 'ipv6', ranges: string): BlockList {
  const list = new BlockList()
  for (const [network = '', bits] of ranges.split(' ').map((range) => range.split('/'))) list.addSubnet(network, Number(bits), family)
  return list
}

const systemResolve: Resolve = (hostname) => lookup(hostname, { all: true, order: 'verbatim' })

type Rules = Pick<CrawlRules, 'allowPrivate'>

/** @throws PageError for an address that must not be connected to */
function checkIp(hostname: string, address: string, { allowPrivate }: Rules): void {
  const kind = addressKind(address)
  if (kind === 'public' || (kind === 'private' && allowPrivate)) return
  const remedy = kind === 'private' ? ': private addresses are fetched by `cepe index add --allow-private` alone' : ''
  const leads = hostname === address ? '' : ` leads to ${address}, which`
  throw new PageError('private_address', `${hostname}${leads} is no address of the public internet${remedy}.`)
}

/** Checks a host written as an IP address, which is not resolved. @throws PageError */
export function checkLiteral(hostname: string, rules: Rules): void {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(address) !== 0) checkIp(address, address, rules)
}

/**
 * Returns a `lookup` function that checks all addresses of a name. The connection uses the checked addresses, which prevents DNS
 * rebinding. One forbidden address rejects the name.
 */
export function checkedLookup(rules: Rules, resolve: Resolve = systemResolve): LookupFunction {
  return (hostname, { all }, callback) => {
    checkedAddresses(hostname, rules, resolve).then(
      (found) => {
        const [first] = found
        if (all === true) callback(null, [...found])
        else if (first !== undefined) callback(null, first.address, first.family)
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), ''),
    )
  }
}

async function checkedAddresses(hostname: string, rules: Rules, resolve: Resolve): Promise<readonly LookupAddress[]> {
  const found = await resolve(hostname)
  if (found.length === 0) throw new PageError('unreachable', `${hostname} has no address.`)
  for (const { address } of found) checkIp(hostname, address, rules)
  return found
}

/**
 * Classifies an IP address as public, private (including loopback) or neither. IPv6 uses an allowlist, so that an embedded IPv4 address
 * (mapped, NAT64, 6to4) never counts as public.
 */
function addressKind(address: string): 'public' | 'private' | 'special' {
  const family = isIP(address)
  if (family === 4) {
    return PRIVATE_4.check(address, 'ipv4') ? 'private' : SPECIAL_4.check(address, 'ipv4') ? 'special' : 'public'
  }
  // An address with a zone is link-local.
  if (family !== 6 || address.includes('%')) return 'special'
  if (PRIVATE_6.check(address, 'ipv6')) return 'private'
  return GLOBAL_6.check(address, 'ipv6') && !SPECIAL_6.check(address, 'ipv6') ? 'public' : 'special'
}
