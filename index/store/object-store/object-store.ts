import type { Store } from '../store.ts'
import { objectLogs } from './append-log.ts'
import { checkStore } from './check.ts'
import { objectFiles } from './files.ts'
import { checkLeases, takeLease } from './lease.ts'
import { lanceStorageOptions } from './settings.ts'
import { objectValues } from './values.ts'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { isStoreFailure } from '../../../base/failures.ts'

/** An index in an object store of the S3 protocol. */
export const objectStore: Store = {
  keepsFiles: false,
  renames: false,
  durable: true,
  slowReads: true,
  locksCanBeLost: true,
  join: (dir, ...names) => [dir, ...names].join('/'),
  resolve: (_base, location) => location,
  check: checkStore,
  freeBytes: () => Promise.resolve(Infinity),
  lanceOptions: lanceStorageOptions,
  readError,
  files: objectFiles,
  values: objectValues,
  locks: { take: takeLease, of: (value) => value, check: checkLeases },
  logs: objectLogs,
  // Heartbeats would cost requests: a process protects its own reads only, and others keep replaced files for a limited time.
  marks: { put: () => Promise.resolve(() => Promise.resolve()), list: () => Promise.resolve([]) },
}

/** As `Store.readError`. */
function readError(error: unknown): Error {
  const came = error instanceof Error ? error : new Error(messageOf(error))
  if (came instanceof CodedError || !isStoreFailure(came)) return came
  return new CodedError(
    'store_unavailable',
    `The index could not be read from its object store: check the store and the network. Replicas with CEPE_MIRROR_DIR answer from a copy.`,
    { field: 'CEPE_INDEX_DIR', retryAfterS: 5, cause: came },
  )
}
