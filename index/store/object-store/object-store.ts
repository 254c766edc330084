import type { Store } from '../store.ts'
import { objectLogs } from './append-log.ts'
import { checkStore } from './check.ts'
import { objectFiles } from './files.ts'
import { checkLeases, takeLease } from './lease.ts'
import { readError } from './read-error.ts'
import { lanceStorageOptions } from './settings.ts'
import { objectValues } from './values.ts'

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
  // Heartbeats would be requests: a process keeps what it reads itself, and others keep replaced files for a while.
  marks: { put: () => Promise.resolve(() => Promise.resolve()), list: () => Promise.resolve([]) },
}
