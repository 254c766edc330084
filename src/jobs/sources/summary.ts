import { counted } from '../../../base/at.ts'
import { isPageAddress } from '../../crawl/page-address.ts'
import type { LeftOutFile } from './list.ts'
import type { Files } from '../record/schema.ts'
import { FILE_PROBLEMS, type FileProblem, type ReadItem } from '../../../index/read/contract.ts'

/** Counts indexed and left-out files. */
export class FileTally {
  #indexed = 0
  #last: string | undefined
  readonly #leftOut = new Map<string, Files['left_out'][number]>()

  /** Counts the file of an item; those of a file follow each other. */
  count(item: ReadItem): void {
    if ('reason' in item) return this.leave(item.file ?? '', item.reason)
    if (item.file !== this.#last) this.#indexed++
    this.#last = item.file
  }

  get files(): Files {
    return { indexed: this.#indexed, left_out: [...this.#leftOut.values()].sort((a, b) => b.files - a.files) }
  }

  add({ indexed, left_out: leftOut }: Files): void {
    this.#indexed += indexed
    for (const one of leftOut) {
      const key = `${one.kind} ${one.reason}`
      this.#leftOut.set(key, { ...one, files: one.files + (this.#leftOut.get(key)?.files ?? 0) })
    }
  }

  /** Counts a left-out file; a rejected passage is none. */
  leave(file: string, given: string): void {
    const reason = FILE_PROBLEMS.find((one) => one === given)
    if (reason !== undefined) this.add({ indexed: 0, left_out: [{ kind: kindOf(file, reason), reason, files: 1 }] })
  }
}

export function tallyOf(files: readonly LeftOutFile[]): Files {
  const tally = new FileTally()
  for (const { file, problem } of files) tally.leave(file, problem)
  return tally.files
}

/** Kind of a file in reports: its extension; the whole name if hidden or without extension; `page` for a web page. */
function kindOf(file: string, reason: FileProblem): string {
  if (isPageAddress(file)) return 'page'
  const name = file.slice(file.lastIndexOf('/') + 1)
  return reason === 'hidden' ? name : (/.(\.[^.]{1,12})$/.exec(name)?.[1]?.toLowerCase() ?? name)
}

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
  const tally = new FileTally()
  for (const files of all) tally.add(files)
  const gone = all.flatMap((files) => files.gone ?? [])
  const sum = (name: 'files' | 'passages'): number => gone.reduce((total, one) => total + one[name], 0)
  return { ...tally.files, ...(gone.length > 0 && { gone: { files: sum('files'), passages: sum('passages') } }) }
}

/** "244 files indexed; 3 left out: 2 .xlsx (not supported), 1 encrypted PDF" */
export function describeFiles({ indexed, left_out: leftOut, gone }: Files, verb = 'indexed'): string {
  const total = leftOut.reduce((sum, { files }) => sum + files, 0)
  const said = leftOut.map(({ kind, reason, files }) =>
    ADJECTIVES.includes(reason) && kind.startsWith('.')
      ? `${files} ${PHRASES[reason]} ${kind.slice(1).toUpperCase()}`
      : `${kind === 'page' ? counted(files, kind) : `${files} ${kind}`} (${PHRASES[reason]})`,
  )
  const count = `${counted(indexed, 'file')} ${verb}`
  const left = total === 0 ? '' : `; ${total} left out: ${said.join(', ')}`
  return count + left + (gone === undefined ? '' : `; ${gone.files} gone (${counted(gone.passages, 'passage')} deleted)`)
}
