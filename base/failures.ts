import { CodedError, diskFull, type ErrorCode, messageOf, osCode } from './errors.ts'

/** The message of a LanceDB error, without its source location. */
export function lanceText(thrown: unknown): string {
  return messageOf(thrown)
    .replace(/,?\s*\/(?:\S*\/)?(?:cargo|rustc)\/[^]*$/, '')
    .slice(0, 300)
}

/** Failures of the ground: codes of the operating system, or LanceDB's texts of them. */
const FAILURES = [
  {
    code: 'disk_full',
    of: /^(ENOSPC|EDQUOT)\b|no space left on device|disk quota exceeded|os error (28|122)\b/i,
    remedy: 'The disk is full: free space and try again.',
  },
  {
    code: 'disk_full',
    of: /^EFBIG\b|file too large|os error 27\b/i,
    remedy: 'A file would be larger than it may be: raise the limit (ulimit -f), or use another file system.',
  },
  {
    code: 'overloaded',
    of: /^(EMFILE|ENFILE)\b|too many open files|os error 2[34]\b/i,
    remedy: 'The process has no file descriptor left: raise its limit (ulimit -n), or ask less at once.',
    retryAfterS: 5,
  },
  {
    code: 'overloaded',
    of: /^ENOMEM\b|cannot allocate (wasm )?memory|array buffer allocation failed|os error 12\b/i,
    remedy:
      'The process has no memory left: raise its limit (ulimit -v; WebAssembly reserves 10 GB of addresses and more), or ask less at once.',
    retryAfterS: 5,
  },
  {
    code: 'store_unavailable',
    of: /^(EPERM|EIO|EACCES|ENODEV|EROFS|ENOTCONN|ESTALE|EISDIR|ENOTDIR|EEXIST|ELOOP)\b|read-only file system|permission denied|os error (1|5|13|19|30|107|116)\b/i,
    remedy: 'A file or folder cannot be read or written to: check its permissions, mount and disk.',
    retryAfterS: 5,
  },
] as const

export const DAMAGED = 'A file of the table is missing or damaged: run `cepe index verify`.'

/** Texts of LanceDB for a request to an object store that failed; an object that is missing is damage. */
const STORE_FAILURE = /Generic S3 error|store: "S3"|operation lacked/

/**
 * The one mapping of errors of the operating system and of LanceDB that are no fault of the program: a full disk, too few file descriptors,
 * an unavailable folder or object store, a damaged table.
 * @returns undefined for any other error
 */
export function failureOf(thrown: unknown): CodedError | undefined {
  if (thrown instanceof CodedError) return thrown
  const message = messageOf(thrown)
  // Without the text, which contains addresses of requests.
  if (STORE_FAILURE.test(message))
    return new CodedError(
      'store_unavailable',
      'The object store of the index did not answer, or rejected a request: check the store, its credentials and the network. Replicas with CEPE_MIRROR_DIR answer from a copy.',
      { field: 'CEPE_INDEX_DIR', retryAfterS: 5, cause: thrown },
    )
  const isDamage = /lance|next batch from stream|panic in async/i.test(message) && (isBrokenFile(thrown) || /not found/i.test(message))
  const damage = { code: 'index_invalid', remedy: DAMAGED } as const
  const failure = FAILURES.find(({ of }) => isOf(thrown, of)) ?? (isDamage ? damage : undefined)
  if (failure === undefined) return undefined
  return new CodedError(failure.code, `${failure.remedy} (${lanceText(thrown)})`, { ...failure, cause: thrown })
}

/** Code and message of any error, to be recorded. */
export function describedError(error: unknown): { code: ErrorCode; message: string } {
  const { code = 'internal' as const, message = messageOf(error) } = failureOf(error) ?? {}
  return { code, message }
}

/** True if the cause is a full disk or an exhausted quota; LanceDB reports both as text only. */
export function isDiskFull(thrown: unknown): boolean {
  return isOf(thrown, FAILURES[0].of)
}

/** Throws an error of work in a folder again; of a full disk it names the folder, as the system and LanceDB do not. */
export function inFolder(folder: string): (thrown: unknown) => never {
  return (thrown) => {
    if (!isDiskFull(thrown) || thrown instanceof CodedError) throw thrown
    throw diskFull(undefined, `The disk of ${folder} is full: free space and try again. (${lanceText(thrown)})`, thrown)
  }
}

function isOf(thrown: unknown, failure: RegExp): boolean {
  return failure.test(`${osCode(thrown) ?? ''} ${messageOf(thrown)}`)
}

/** True if another writer of a LanceDB table committed first; concurrent migrations that add the same column fail with `already exists`. */
export function isCommitConflict(thrown: unknown): boolean {
  return /commit conflict|retryable|concurrent|conflicting|please retry|column \S+ already exists/i.test(messageOf(thrown))
}

/** True if the manifest of a table's version is missing, in a folder or an object store. */
export function isVersionGone(thrown: unknown): boolean {
  return /not found[^]*_versions\/|_versions\/[^]*not found/i.test(messageOf(thrown))
}

/** Texts of LanceDB's readers for an incomplete or changed file; "file a bug report" stands for what they did not expect of one. */
const BROKEN =
  /of size \d+ bytes|fill whole buffer|invalid seek|invalid magic|correct footer|too small|missing implementation field|panic|corrupt file|bug report|decode protobuf|unexpected eof|current-format reader|batch from stream: invalid input/i

/** True if LanceDB found an incomplete or changed file, by the errors of its readers. */
export function isBrokenFile(thrown: unknown): boolean {
  return BROKEN.test(lanceText(thrown))
}
