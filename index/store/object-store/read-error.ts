import { CodedError, messageOf } from '../../../base/errors.ts'
import { isStoreFailure } from '../../../base/failures.ts'

/** As `Store.readError`. */
export function readError(error: unknown): Error {
  const came = error instanceof Error ? error : new Error(messageOf(error))
  if (came instanceof CodedError || !isStoreFailure(came)) return came
  return new CodedError(
    'store_unavailable',
    `The index could not be read from its object store: look at the store and the network. Replicas with CEPE_MIRROR_DIR answer from a copy meanwhile.`,
    { field: 'CEPE_INDEX_DIR', retryAfterS: 5, cause: came },
  )
}
