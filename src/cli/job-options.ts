import type { Format } from '../../index/read/contract.ts'
import type { JobOptions } from '../jobs/schema.ts'

/** Words of a passage where --split is given without a number: the literature's. */
export const SPLIT_WORDS = 100

/** Options of the commands that read a corpus. */
export interface ReadingOptions {
  readonly split?: number | true
  readonly format?: Format
  /** False with --no-quotes. */
  readonly quotes?: boolean
  /** False with --no-metadata. */
  readonly metadata?: boolean
  readonly label?: string
  readonly maxRejected?: number
}

export function jobOptions({ split, format, quotes, metadata, label, maxRejected }: ReadingOptions): JobOptions {
  return {
    ...(split !== undefined && { split_words: split === true ? SPLIT_WORDS : split }),
    ...(format !== undefined && { format }),
    ...(quotes === false && { no_quotes: true }),
    ...(metadata === false && { no_metadata: true }),
    ...(label !== undefined && { label }),
    ...(maxRejected !== undefined && { max_rejected_share: maxRejected }),
  }
}
