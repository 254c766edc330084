import { counted } from '../../../base/at.ts'
import { Value } from 'typebox/value'
import { invalidOption, invalidRequest, orThrow } from '../../../base/errors.ts'
import { parseColumns, type TableShape } from '../../../index/read/column-map.ts'
import type { ReadItem, ReadOptions } from '../../../index/read/contract.ts'
import { type Files, type Job, type JobOptions, JobOptionsSchema } from '../record/schema.ts'
import { checkDeleteMissing } from './missing.ts'
import { FileTally } from './summary.ts'

const SHOWN = 20
/** Maximum fields in a warning, and characters of a name. */
const MOST_NAMES = 32
const NAME_CHARACTERS = 64

/** Collects rejects, warnings and counts of files while a corpus is read. */
export class ReadingNotes {
  readonly rejects: Job['recent_rejects'] = []
  /** Number of rows by nested metadata field. */
  readonly #nested = new Map<string, number>()
  /** The first warnings of files. */
  readonly #ofFiles: string[] = []
  readonly #tally = new FileTally()
  #warned = 0

  /** Forwards items and takes notes of them. */
  async *of(items: AsyncIterable<ReadItem>): AsyncGenerator<ReadItem> {
    for await (const item of items) {
      this.#tally.count(item)
      if ('reason' in item) {
        this.rejects.push(item)
        if (this.rejects.length > SHOWN) this.rejects.shift()
      } else {
        for (const name of item.leftOut ?? [])
          if (this.#nested.has(name) || this.#nested.size < MOST_NAMES) this.#nested.set(name, (this.#nested.get(name) ?? 0) + 1)
        for (const warning of item.warnings ?? [])
          if (++this.#warned <= SHOWN) this.#ofFiles.push(item.file === undefined ? warning : `${item.file}: ${warning}`)
      }
      yield item
    }
  }

  get files(): Files {
    return this.#tally.files
  }

  /** Warnings about files, and about fields dropped from accepted rows. */
  get warnings(): string[] {
    const more = this.#warned - this.#ofFiles.length
    const ofFiles = more === 0 ? this.#ofFiles : [...this.#ofFiles, `The report has ${counted(more, 'more warning')} of files.`]
    if (this.#nested.size === 0) return [...ofFiles]
    const fields = [...this.#nested].map(([name, rows]) => `${name.slice(0, NAME_CHARACTERS).toWellFormed()} (${counted(rows, 'row')})`)
    return [...ofFiles, `Nested metadata is not stored and was left out: ${fields.join(', ')}.`]
  }
}

/** @throws invalid_request */
function shapeOf({ columns, ids }: JobOptions): TableShape {
  const map = columns === undefined ? undefined : parseColumns(columns)
  if (map?.fields.id !== undefined && ids !== undefined)
    throw invalidRequest('ids', 'columns names a column of ids, and ids generates them: give one of the two.')
  return { columns: map, ids }
}

/** The first given option that is for tables alone. */
export function tableOptionOf(options: JobOptions): keyof JobOptions | undefined {
  return (['format', 'columns', 'ids', 'no_quotes', 'no_metadata'] as const).find((name) => options[name])
}

/** Validates the options of a job. @throws options_invalid for those that its record could not contain; invalid_request */
export function checkOptions(source: Pick<Job['source'], 'files' | 'path'>, options: JobOptions): void {
  const [wrong] = Value.Errors(JobOptionsSchema, options)
  if (wrong !== undefined) {
    const field = wrong.instancePath.slice(1)
    throw invalidOption(field, `${field} ${wrong.message}.`)
  }
  const contradiction = 'strict allows no rejected line and no skipped file, and max_rejected_share some: give one of the two.'
  if (options.strict === true && (options.max_rejected_share ?? 0) > 0) throw invalidRequest('max_rejected_share', contradiction)
  checkDeleteMissing(source, options)
  if (source.files?.web !== undefined && options.label !== undefined)
    throw invalidRequest('label', 'label goes with files: the source of a page of the web is its address.')
  shapeOf(options)
  const { encoding } = options
  const message = `The encoding ${JSON.stringify(encoding)} is not known: name it as web pages do (windows-1252, shift_jis).`
  orThrow(
    () => new TextDecoder(encoding),
    (error) => invalidRequest('encoding', message, error),
  )
}

/** Read options of a job's corpus. @param name file name: the source of passages that have none. @throws invalid_request */
export function corpusReadOptions(
  { format, split_words, encoding, no_quotes, no_metadata, label, ...shape }: JobOptions,
  name?: string,
): ReadOptions {
  const [quotes, metadata] = [no_quotes !== true, no_metadata !== true]
  return { shape: shapeOf(shape), format, encoding, splitWords: split_words, quotes, metadata, source: label ?? name }
}
