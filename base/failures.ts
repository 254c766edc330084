import { messageOf, osCode } from './errors.ts'

/** What LanceDB says of an error, without where in its own source it arose. */
export function lanceText(thrown: unknown): string {
  return messageOf(thrown)
    .replace(/,?\s*\/(?:\S*\/)?(?:cargo|rustc)\/[^]*$/, '')
    .slice(0, 300)
}

/** True where the cause is a full disk or an exhausted quota; LanceDB reports both as text only. */
export function isDiskFull(thrown: unknown): boolean {
  return (
    ['ENOSPC', 'EDQUOT'].includes(osCode(thrown) ?? '') ||
    /no space left on device|disk quota exceeded|os error (28|122)\b/i.test(messageOf(thrown))
  )
}

/** True where another writer of a table of LanceDB was first; two migrations that add the same column meet as `already exists`. */
export function isCommitConflict(thrown: unknown): boolean {
  return /commit conflict|retryable|concurrent|conflicting|please retry|column \S+ already exists/i.test(messageOf(thrown))
}

/** True where the manifest of a version of a table has gone, in a folder or an object store. */
export function isVersionGone(thrown: unknown): boolean {
  return /not found[^]*_versions\/|_versions\/[^]*not found/i.test(messageOf(thrown))
}

/** True where LanceDB met a file that is not whole, by how it reads it and where it ends. */
export function isBrokenFile(thrown: unknown): boolean {
  return /of size \d+ bytes|fill whole buffer|invalid seek|invalid magic|correct footer|missing implementation field|panic/i.test(
    lanceText(thrown),
  )
}

/** True where an object store kept LanceDB from reading. To be asked for a table in an object store alone. */
export function isStoreFailure(thrown: unknown): boolean {
  return /LanceError\(IO\)|object ?store|error sending request|error performing|connection|timed? ?out|HTTP error|status code|not ?found/i.test(
    messageOf(thrown),
  )
}
