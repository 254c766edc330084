import { given } from '../../../base/at.ts'
import { Option, type Command } from 'commander'
import { MADE_IDS, type MadeIds } from '../../../index/read/column-map.ts'
import { FORMATS, SPLIT_WORDS, type Format } from '../../../index/read/contract.ts'
import type { JobOptions } from '../../jobs/record/schema.ts'
import { decimal, wholeNumber } from '../program/options.ts'

/** Options of the commands that read a corpus. */
export interface ReadingOptions {
  readonly split?: number | true
  readonly format?: Format
  readonly columns?: string
  readonly ids?: MadeIds
  readonly encoding?: string
  /** False with --no-quotes. */
  readonly quotes?: boolean
  /** False with --no-metadata. */
  readonly metadata?: boolean
  readonly label?: string
  readonly maxRejected?: number
  readonly strict?: boolean
}

/** Adds the options of reading a corpus to a command. */
export function withReadingOptions(command: Command): Command {
  return command
    .option(
      '--split [words]',
      `split rows into passages of about this many words (default ${SPLIT_WORDS.byDefault}; documents are always split)`,
      wholeNumber({ min: SPLIT_WORDS.least, max: SPLIT_WORDS.most }),
    )
    .addOption(new Option('--format <format>', 'detected from the content by default').choices(FORMATS))
    .option(
      '--columns <list>',
      'tables: mapping of fields to columns (text=content,id=docid,title=name); for TSV and CSV without a header, numbers from 1 (id=1,text=2)',
    )
    .addOption(new Option('--ids <kind>', 'tables: generate ids from the line number or from a hash of title and text').choices(MADE_IDS))
    .option('--encoding <name>', 'encoding of texts and tables that are not UTF-8 and declare none (windows-1252, shift_jis)')
    .option('--no-quotes', 'TSV and CSV: treat quotes as ordinary characters')
    .option('--no-metadata', 'ignore the metadata of the rows')
    .option('--label <text>', "source of passages without one (default: the file's name); for documents, prefix of their sources")
    .option('--max-rejected <share>', 'maximum share of rejected lines or skipped files, 0 to 1', decimal({ max: 1 }))
    .option('--strict', 'fail without indexing anything if a line is rejected or a file skipped')
}

/** The options of a command in a job's form; unset ones are absent. */
export function jobOptions(reading: ReadingOptions): JobOptions {
  const { split, format, columns, ids, encoding, quotes, metadata, label, maxRejected, strict } = reading
  const shape = { split_words: split === true ? SPLIT_WORDS.byDefault : split, format, columns, ids, encoding }
  const rows = { no_quotes: quotes === false || undefined, no_metadata: metadata === false || undefined, label }
  return given({ ...shape, ...rows, max_rejected_share: maxRejected, strict: strict || undefined })
}
