import { BlockList, isIP } from 'node:net'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

/** Whether a listening address is reachable from this machine only. */
export function isLoopback(host: string): boolean {
  const version = isIP(host)
  return version === 0 ? host.toLowerCase() === 'localhost' : LOOPBACK.check(host, version === 4 ? 'ipv4' : 'ipv6')
}
