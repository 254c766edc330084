import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError } from '../../base/errors.ts'
import { isVersionGone } from '../../base/failures.ts'
import type { Table } from './lance.ts'

/** A clean-up removes its versions within moments; many of them take longer in an object store. */
const ATTEMPTS = 50
const PAUSE_MS = 20

export interface Version {
  readonly version: number
  /** Time of its write. */
  readonly timestamp: Date
}

/**
 * All versions of a table. LanceDB reads every manifest and fails if another process removes one during the listing: then it is retried.
 * @throws conflict if versions keep disappearing for seconds
 */
export async function versionsOf(table: Table): Promise<readonly Version[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await table.listVersions()
    } catch (error) {
      if (!isVersionGone(error)) throw error
      if (attempt === ATTEMPTS)
        throw new CodedError('conflict', `Other processes keep removing versions of ${table.storedAs}: try again later.`, {
          field: table.storedAs,
          cause: error,
        })
      await sleep(PAUSE_MS)
    }
  }
}
