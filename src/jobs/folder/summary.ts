import type { LeftOutFile } from './list.ts'
import { Type, type Static } from 'typebox'
import { FILE_PROBLEMS, type FileProblem, type ReadItem } from '../../../index/read/contract.ts'

export const FilesSchema = Type.Object({
  indexed: Type.Integer({ description: 'Files whose passages are planned.' }),
  left_out: Type.Array(
    Type.Object({
      kind: Type.String({ description: "The files' ending." }),
      reason: Type.Enum([...FILE_PROBLEMS]),
      files: Type.Integer(),
    }),
    { description: 'Files that are not, by kind and reason; the report names each.' },
  ),
  gone: Type.Optional(
    Type.Object(
      { files: Type.Integer(), passages: Type.Integer({ description: 'Deleted with them.' }) },
      { description: 'Files that were there before (`delete_missing`).' },
    ),
  ),
})
export type Files = Static<typeof FilesSchema>

/** Counts files on their way. */
export class FileTally {
  #indexed = 0
  #last: string | undefined
  readonly #leftOut = new Map<string, { kind: string; reason: FileProblem; files: number }>()

  async *counting(items: AsyncIterable<ReadItem>): AsyncGenerator<ReadItem> {
    for await (const item of items) {
      if ('reason' in item) this.leave(item.file ?? '', item.reason)
      else if (item.file !== this.#last) this.#indexed++
      if (!('reason' in item)) this.#last = item.file
      yield item
    }
  }

  get files(): Files {
    return { indexed: this.#indexed, left_out: [...this.#leftOut.values()].sort((a, b) => b.files - a.files) }
  }

  /** Counts a file that is left out. */
  leave(file: string, given: string): void {
    const reason = FILE_PROBLEMS.find((one) => one === given)
    // A passage of a file, not the file.
    if (reason === undefined) return
    const kind = kindOf(file, reason)
    const known = this.#leftOut.get(`${kind} ${reason}`) ?? { kind, reason, files: 0 }
    this.#leftOut.set(`${kind} ${reason}`, { ...known, files: known.files + 1 })
  }
}

/** Counts of files that are known to be left out. */
export function tallyOf(files: readonly LeftOutFile[]): Files {
  const tally = new FileTally()
  for (const { file, problem } of files) tally.leave(file, problem)
  return tally.files
}

/** What a person takes a file for: its ending; the whole name of one without, or of a hidden one. */
function kindOf(file: string, reason: FileProblem): string {
  const name = file.slice(file.lastIndexOf('/') + 1)
  return reason === 'hidden' ? name : (/.(\.[^.]{1,12})$/.exec(name)?.[1]?.toLowerCase() ?? name)
}
