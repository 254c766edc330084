import { CodedError, messageOf } from '../../base/errors.ts'
import { isRemote } from './location.ts'

/** How LanceDB says that a read did not come about for the store's sake. */
const STORE =
  /LanceError\(IO\)|object ?store|error sending request|error performing|connection|timed? ?out|HTTP error|status code|not ?found/i

/** An error of reading a table: store_unavailable where an object store kept LanceDB from it; as it came otherwise. */
export function readError(dir: string, error: unknown): Error {
  const came = error instanceof Error ? error : new Error(messageOf(error))
  if (!isRemote(dir) || came instanceof CodedError || !STORE.test(came.message)) return came
  return new CodedError(
    'store_unavailable',
    `The index could not be read from its object store: look at the store and the network. Replicas with CEPE_MIRROR_DIR answer from a copy meanwhile.`,
    { field: 'CEPE_INDEX_DIR', retryAfterS: 5, cause: came },
  )
}
