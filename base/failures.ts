import { messageOf, osCode } from './errors.ts'

/** The message of a LanceDB error, without its source location. */
export function lanceText(thrown: unknown): string {
  return messageOf(thrown)
    .replace(/,?\s*\/(?:\S*\/)?(?:cargo|rustc)\/[^]*$/, '')
    .slice(0, 300)
}

/** True if the cause is a full disk or an exhausted quota; LanceDB reports both as text only. */
export function isDiskFull(thrown: unknown): boolean {
  return (
    ['ENOSPC', 'EDQUOT'].includes(osCode(thrown) ?? '') ||
    /no space left on device|disk quota exceeded|os error (28|122)\b/i.test(messageOf(thrown))
  )
}

/** True if another writer of a LanceDB table committed first; concurrent migrations that add the same column fail with `already exists`. */
export function isCommitConflict(thrown: unknown): boolean {
  return /commit conflict|retryable|concurrent|conflicting|please retry|column \S+ already exists/i.test(messageOf(thrown))
}

/** True if the manifest of a table's version is missing, in a folder or an object store. */
export function isVersionGone(thrown: unknown): boolean {
  return /not found[^]*_versions\/|_versions\/[^]*not found/i.test(messageOf(thrown))
}

/** True if LanceDB found an incomplete file, by the errors of its readers. */
export function isBrokenFile(thrown: unknown): boolean {
  return /of size \d+ bytes|fill whole buffer|invalid seek|invalid magic|correct footer|missing implementation field|panic/i.test(
    lanceText(thrown),
  )
}

/** True if an object store failed a read of LanceDB. Only valid for a table in an object store. */
export function isStoreFailure(thrown: unknown): boolean {
  return /LanceError\(IO\)|object ?store|error sending request|error performing|connection|timed? ?out|HTTP error|status code|not ?found/i.test(
    messageOf(thrown),
  )
}
