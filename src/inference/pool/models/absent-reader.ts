import { CodedError } from '../../../../base/errors.ts'
import type { CepeManifest } from '../../../../models/manifest.ts'
import type { AheadEncoder, DocumentReader, Reader } from '../../contract.ts'
import type { Supervised } from './process-options.ts'

function absent(): CodedError {
  return new CodedError('not_found', 'This process is an indexer, which has no reader: ask a replica.')
}

/** Stands where a process has no reader: no model is loaded, nothing is answered. */
export function absentReader(): Promise<Reader & DocumentReader & AheadEncoder & Supervised> {
  return Promise.resolve({
    get manifest(): CepeManifest {
      throw absent()
    },
    answer: () => Promise.reject(absent()),
    choices: () => Promise.reject(absent()),
    likelihoods: () => Promise.reject(absent()),
    document: () => Promise.reject(absent()),
    encodeAhead: () => Promise.reject(absent()),
    status: () => ({
      state: 'serving',
      children: [],
      ready: 0,
      busy: 0,
      queued: { question: 0, long: 0, bulk: 0 },
      restarts: 0,
      finished: 0,
      disruptions: 0,
    }),
    close: () => Promise.resolve(),
  })
}
