import { Option, type Command } from 'commander'
import { MADE_IDS, type MadeIds } from '../../index/read/column-map.ts'
import { FORMATS, type Format } from '../../index/read/contract.ts'
import type { JobOptions } from '../jobs/schema.ts'
import { SPLIT_WORDS } from '../jobs/split-words.ts'
import { decimal, wholeNumber } from './numbers.ts'

/** Options of the commands that read a corpus. */
export interface ReadingOptions {
  readonly split?: number | true
  readonly format?: Format
  readonly columns?: string
  readonly ids?: MadeIds
  /** False with --no-quotes. */
  readonly quotes?: boolean
  /** False with --no-metadata. */
  readonly metadata?: boolean
  readonly label?: string
  readonly maxRejected?: number
  readonly strict?: boolean
}

/** Gives a command the options of reading a corpus. */
export function withReadingOptions(command: Command): Command {
  return command
    .option(
      '--split [words]',
      `cut rows into passages of about so many words (${SPLIT_WORDS.byDefault}, as documents are in any case)`,
      wholeNumber({ min: SPLIT_WORDS.least, max: SPLIT_WORDS.most }),
    )
    .addOption(new Option('--format <format>', 'detected from the content by default').choices(FORMATS))
    .option(
      '--columns <list>',
      'tables: which columns hold which fields (text=content,id=docid,title=name); numbers from 1 for TSV and CSV without a header (id=1,text=2)',
    )
    .addOption(new Option('--ids <kind>', 'tables: make the ids, of the line or of a hash of title and text').choices(MADE_IDS))
    .option('--no-quotes', 'TSV and CSV: quotes are characters like any others')
    .option('--no-metadata', 'ignore the metadata of the rows')
    .option('--label <text>', "source of passages that name none (default: the file's name); of documents what their sources begin with")
    .option('--max-rejected <share>', 'maximum share of rejected lines or left-out files, 0 to 1', decimal({ max: 1 }))
    .option('--strict', 'fail, with nothing indexed, where a line is rejected or a file left out')
}

/** The options of a command as a job keeps them; what is not given is absent. */
export function jobOptions({ split, format, columns, ids, quotes, metadata, label, maxRejected, strict }: ReadingOptions): JobOptions {
  return {
    ...(split !== undefined && { split_words: split === true ? SPLIT_WORDS.byDefault : split }),
    ...(format !== undefined && { format }),
    ...(columns !== undefined && { columns }),
    ...(ids !== undefined && { ids }),
    ...(quotes === false && { no_quotes: true }),
    ...(metadata === false && { no_metadata: true }),
    ...(label !== undefined && { label }),
    ...(maxRejected !== undefined && { max_rejected_share: maxRejected }),
    ...(strict === true && { strict: true }),
  }
}
