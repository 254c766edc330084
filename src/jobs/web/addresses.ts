import { CodedError } from '../../../base/errors.ts'
import { PageError } from '../../crawl/contract.ts'
import { checkLiteral } from '../../crawl/lookup.ts'
import { checkAllowed, pageAddress } from '../../crawl/page-address.ts'
import type { WebSource } from '../schema.ts'

/** Maximum addresses per job. */
export const MOST_ADDRESSES = 100

/**
 * Validates and normalizes the addresses of a job. Host names are resolved and checked only when fetched.
 * @throws invalid_request for an invalid address, forbidden for one that may not be fetched
 */
export function checkedAddresses({ urls, hosts, private: withPrivate }: WebSource): string[] {
  const allowPrivate = withPrivate === true
  if (urls.length === 0 || urls.length > MOST_ADDRESSES)
    throw new CodedError('invalid_request', `Give 1 to ${MOST_ADDRESSES} addresses; a sitemap names as many pages as it likes.`, {
      field: 'urls',
    })
  return urls.map((text) => {
    const url = orRefused('invalid_request', () => pageAddress(text))
    orRefused('forbidden', () => {
      checkAllowed(url, { hosts, named: urls, allowPrivate })
      checkLiteral(url.hostname, { allowPrivate })
    })
    return url.href
  })
}

function orRefused<Result>(code: 'invalid_request' | 'forbidden', check: () => Result): Result {
  try {
    return check()
  } catch (error) {
    throw error instanceof PageError ? new CodedError(code, error.message, { field: 'urls', cause: error }) : error
  }
}
