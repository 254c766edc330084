import { CodedError } from '../../../base/errors.ts'
import { contentHash } from '../../../index/hash.ts'
import type { Passage } from '../../../index/contract.ts'
import { noObjectStore, type Fault } from '../../helpers/object-store.ts'
import { storedRows } from '../../helpers/stored-rows.ts'

/** What `rowsAt` gives of a table of passages. */
export function expected(passages: readonly Passage[]): string[] {
  return passages.map((passage) => `${passage.id} ${contentHash(passage)}`).sort()
}

export async function rowsAt(address: string): Promise<string[]> {
  return (await storedRows(address)).map(([row]) => row)
}

export function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: unknown) => (error instanceof CodedError ? error.code : String(error)),
  )
}

export const isManifest: Fault['when'] = (method, path) => method === 'PUT' && path.includes('.manifest')

/** Where there is a server: else why a test is left out. */
export const HERE = { skip: noObjectStore, timeout: 380_000 }
