import { BlockList, isIP } from 'node:net'

type Range = readonly [network: string, bits: number]

/** Loopback, private networks (RFC 1918) and those of carriers (RFC 6598). */
const PRIVATE_4: readonly Range[] = [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
]
/** Other addresses that are not globally reachable (IANA, IPv4 Special-Purpose Address Registry): link-local, documentation, multicast and so on. */
const SPECIAL_4: readonly Range[] = [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]
/** Loopback and unique local addresses (RFC 4193). */
const PRIVATE_6: readonly Range[] = [
  ['::1', 128],
  ['fc00::', 7],
]
/** Global unicast. IPv4-mapped, NAT64, link-local and multicast addresses are outside of it. */
const GLOBAL_6: readonly Range[] = [['2000::', 3]]
/** Exceptions: Teredo and other protocols, documentation, 6to4. */
const SPECIAL_6: readonly Range[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

function listOf(ranges: readonly Range[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const [network, bits] of ranges) list.addSubnet(network, bits, family)
  return list
}
const private4 = listOf(PRIVATE_4, 'ipv4')
const special4 = listOf(SPECIAL_4, 'ipv4')
const private6 = listOf(PRIVATE_6, 'ipv6')
const global6 = listOf(GLOBAL_6, 'ipv6')
const special6 = listOf(SPECIAL_6, 'ipv6')

/**
 * Classifies an IP address as public, private (including loopback) or neither. IPv6 uses an allowlist, so that an embedded IPv4 address
 * (mapped, NAT64, 6to4) never counts as public.
 */
export function addressKind(address: string): 'public' | 'private' | 'special' {
  const family = isIP(address)
  if (family === 4) {
    if (private4.check(address, 'ipv4')) return 'private'
    return special4.check(address, 'ipv4') ? 'special' : 'public'
  }
  // An address with a zone is link-local.
  if (family !== 6 || address.includes('%')) return 'special'
  if (private6.check(address, 'ipv6')) return 'private'
  return global6.check(address, 'ipv6') && !special6.check(address, 'ipv6') ? 'public' : 'special'
}
