import { CodedError, messageOf, osCode } from './errors.ts'

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

/** Errors of the operating system by its code or number; LanceDB reports them as text only. */
function isOsError(thrown: unknown, codes: readonly string[], text: RegExp): boolean {
  return codes.includes(osCode(thrown) ?? '') || text.test(messageOf(thrown))
}

/**
 * The one mapping of errors of the operating system and of LanceDB that are no fault of the program: a full disk, too few file descriptors,
 * a folder without permission, a damaged table.
 * @returns undefined for any other error
 */
export function failureOf(thrown: unknown): CodedError | undefined {
  if (thrown instanceof CodedError) return thrown
  const why = lanceText(thrown)
  if (isDiskFull(thrown)) return new CodedError('disk_full', `The disk is full: free space and try again. (${why})`, { cause: thrown })
  if (isOsError(thrown, ['EMFILE', 'ENFILE'], /too many open files|os error 2[34]\b/i))
    return new CodedError(
      'overloaded',
      `The process has no file descriptor left: raise its limit (ulimit -n), or ask less at once. (${why})`,
      {
        retryAfterS: 5,
        cause: thrown,
      },
    )
  if (
    isOsError(thrown, ['EROFS', 'EACCES', 'EPERM'], /read-only file system|permission denied|operation not permitted|os error (1|13|30)\b/i)
  )
    return new CodedError('store_unavailable', `A folder cannot be read or written to: check its permissions and its mount. (${why})`, {
      retryAfterS: 5,
      cause: thrown,
    })
  if (isBrokenFile(thrown) || /lance error: not found|object at location \S+ not found/i.test(messageOf(thrown)))
    return new CodedError('index_invalid', `A file of the table is missing or damaged: run \`cepe index verify\`. (${why})`, {
      cause: thrown,
    })
  return undefined
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
