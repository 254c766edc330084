import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { isIP } from 'node:net'
import { PageError, type CrawlRules, type Resolve } from './contract.ts'
import { addressKind } from './ip-address.ts'

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
