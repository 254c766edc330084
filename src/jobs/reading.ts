import { CodedError } from '../../base/errors.ts'
import { wellFormed } from '../../index/passage-metadata.ts'
import { parseColumns, type TableShape } from '../../index/read/column-map.ts'
import type { ReadOptions } from '../../index/read/read.ts'
import type { ReadItem, ReadLimits } from '../../index/read/contract.ts'
import type { Job, JobOptions } from './schema.ts'

const SHOWN = 20
/** Fields that are named, and characters of a name. */
const MOST_NAMES = 32
const NAME_CHARACTERS = 64

/** What is told of a corpus beside its passages. */
export class ReadingNotes {
  /** The latest rejected lines. */
  readonly rejects: Job['recent_rejects'] = []
  /** Rows by the nested metadata field that they had. */
  readonly #nested = new Map<string, number>()

  /** Takes notes of items on their way. */
  async *of(items: AsyncIterable<ReadItem>): AsyncGenerator<ReadItem> {
    for await (const item of items) {
      if ('reason' in item) {
        this.rejects.push(item)
        if (this.rejects.length > SHOWN) this.rejects.shift()
      } else for (const name of item.leftOut ?? []) this.#count(name)
      yield item
    }
  }

  #count(name: string): void {
    if (this.#nested.has(name) || this.#nested.size < MOST_NAMES) this.#nested.set(name, (this.#nested.get(name) ?? 0) + 1)
  }

  /** What was left out of rows that were accepted. */
  get warnings(): string[] {
    if (this.#nested.size === 0) return []
    const fields = [...this.#nested].map(([name, rows]) => `${wellFormed(name).slice(0, NAME_CHARACTERS)} (${rows} rows)`)
    return [`Nested metadata is not stored and was left out: ${fields.join(', ')}.`]
  }
}

/** @throws invalid_request */
function shapeOf({ columns, ids }: JobOptions): TableShape {
  const map = columns === undefined ? undefined : parseColumns(columns)
  if (map?.fields.id !== undefined && ids !== undefined)
    throw new CodedError('invalid_request', 'columns names a column of ids, and ids has them made: give one of the two.', { field: 'ids' })
  return { columns: map, ids }
}

/** Looks at the options that say what the rows of a table are like. @throws invalid_request */
export function checkShape(options: JobOptions): void {
  shapeOf(options)
}

/** How a job's corpus is read. @param name of its file, which passages without a source of their own are given. @throws invalid_request */
export function corpusReadOptions(
  { format, split_words, no_quotes, no_metadata, label, ...shape }: JobOptions,
  name: string | undefined,
  limits: Partial<ReadLimits> | undefined,
): ReadOptions {
  const source = label ?? name
  return {
    shape: shapeOf(shape),
    ...(format === undefined ? {} : { format }),
    ...(split_words === undefined ? {} : { splitWords: split_words }),
    ...(no_quotes === true ? { quotes: false } : {}),
    ...(no_metadata === true ? { metadata: false } : {}),
    ...(source === undefined ? {} : { source }),
    ...(limits === undefined ? {} : { limits }),
  }
}
