import type { FileProblem } from '../../../index/read/contract.ts'
import type { Files } from './summary.ts'

const PHRASES: Readonly<Record<FileProblem, string>> = {
  not_supported: 'not supported',
  encrypted: 'encrypted',
  damaged: 'damaged',
  encoding: 'not UTF-8',
  too_slow: 'takes too long to read',
  too_much_memory: 'takes too much memory to read',
  without_text: 'no text',
  scanned: 'scanned, no text',
  too_large: 'too large',
  hidden: 'hidden',
  link: 'symbolic link',
  unreadable: 'cannot be opened',
  robots: 'disallowed by robots.txt',
  not_found: 'not found',
  http_error: 'error of the server',
  unreachable: 'server not reached',
  timeout: 'timeout',
  redirect: 'redirect not followed',
  private_address: 'private address',
  not_allowed: 'address not allowed',
  too_many: 'more than are taken',
}
/** Written before the kind instead of after it. */
const ADJECTIVES: readonly FileProblem[] = ['encrypted', 'damaged']

/** Sums the counts of several jobs. */
export function joinedFiles(all: readonly Files[]): Files {
  const leftOut = new Map<string, Files['left_out'][number]>()
  for (const one of all.flatMap((files) => files.left_out)) {
    const key = `${one.kind} ${one.reason}`
    leftOut.set(key, { ...one, files: one.files + (leftOut.get(key)?.files ?? 0) })
  }
  const gone = all.flatMap((files) => files.gone ?? [])
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
  return {
    ...(gone.length > 0 && { gone: { files: sum(gone.map(({ files }) => files)), passages: sum(gone.map(({ passages }) => passages)) } }),
    indexed: sum(all.map(({ indexed }) => indexed)),
    left_out: [...leftOut.values()].sort((a, b) => b.files - a.files),
  }
}

/** "244 files indexed; 3 left out: 2 .xlsx (not supported), 1 encrypted PDF" */
export function describeFiles({ indexed, left_out: leftOut, gone }: Files, verb = 'indexed'): string {
  const total = leftOut.reduce((sum, { files }) => sum + files, 0)
  const said = leftOut.map(({ kind, reason, files }) =>
    ADJECTIVES.includes(reason) && kind.startsWith('.')
      ? `${files} ${PHRASES[reason]} ${kind.slice(1).toUpperCase()}`
      : `${files} ${kind === 'page' && files !== 1 ? 'pages' : kind} (${PHRASES[reason]})`,
  )
  const count = `${indexed} ${indexed === 1 ? 'file' : 'files'} ${verb}`
  const left = total === 0 ? '' : `; ${total} left out: ${said.join(', ')}`
  return count + left + (gone === undefined ? '' : `; ${gone.files} gone (${gone.passages} passages deleted)`)
}
