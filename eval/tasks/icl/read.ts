import path from 'node:path'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { parse } from 'csv-parse'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { type Problem, ProblemLog } from '../../datasets/question-set.ts'
import { classNames } from '../../datasets/parquet.ts'
import { fileHash, readRecords } from '../../datasets/records.ts'
import type { Labelled } from './demonstrations.ts'

export interface LabelledFile {
  readonly file: string
  readonly sha256: string
  readonly examples: readonly Labelled[]
  readonly problems: readonly Problem[]
}

export interface LabelledFields {
  readonly text: string
  readonly label: string
  /** Class names, if the file numbers classes from 0. */
  readonly names?: readonly string[] | undefined
}

/**
 * Reads labelled texts from CSV (with a header), TSV, JSON, JSON lines or Parquet; `_` in a label becomes a space.
 * @throws dataset_invalid if no record has both fields, naming the existing fields
 */
export async function readLabelled(file: string, { text: textField, label: labelField, names }: LabelledFields): Promise<LabelledFile> {
  const problems = new ProblemLog()
  const examples: Labelled[] = []
  const fields = new Set<string>()
  try {
    for await (const { at, value } of /\.csv$/.test(file) ? csv(file) : readRecords(file)) {
      const record = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
      Object.keys(record).forEach((key) => fields.add(key))
      const [text, label] = [record[textField], record[labelField]]
      if (typeof text !== 'string' || text.trim() === '') problems.add(`no ${textField}`, at)
      else if ((typeof label !== 'string' && typeof label !== 'number') || String(label).trim() === '') problems.add(`no ${labelField}`, at)
      else if (names === undefined) {
        if (typeof label === 'number') problems.add('label that is a number without a word (name the classes with --labels)', at, 'kept')
        examples.push({ id: at, text: text.trim(), label: spoken(label) })
      } else {
        const known = wordOf(label, names)
        if (known === undefined) problems.add(`${labelField} that is none of the ${names.length} classes`, at)
        else examples.push({ id: at, text: text.trim(), label: spoken(known) })
      }
    }
    if (examples.length > 0) return { file: path.basename(file), sha256: await fileHash(file), examples, problems: problems.list() }
  } catch (error) {
    if (error instanceof CodedError) throw error
    throw new CodedError('dataset_invalid', `${file} cannot be read: ${messageOf(error)}.`, { cause: error })
  }
  throw new CodedError(
    'dataset_invalid',
    `${file} has no record with ${textField} and ${labelField} (its fields: ${[...fields].join(', ')}): name them with --text-field and --label-field.`,
  )
}

/** Class names from the first file that has them; undefined if none does. */
export async function namesIn(files: readonly string[], field: string): Promise<readonly string[] | undefined> {
  // An unreadable file is reported when its records are read.
  const told = await Promise.all(files.map((file) => classNames(file, field).catch(() => undefined)))
  return told.find((names) => names !== undefined)
}

function spoken(label: string | number): string {
  return String(label).trim().replaceAll('_', ' ')
}

/** The name of a class given by its number or name. */
function wordOf(label: string | number, names: readonly string[]): string | undefined {
  const word = String(label).trim()
  return /^\d+$/.test(word) ? names[Number(word)] : names.find((name) => name === word)
}

async function* csv(file: string): AsyncGenerator<{ at: string; value: unknown }> {
  let row = 1
  // Forwards stream errors, which a pipe would leave unhandled.
  for await (const value of pipeline(createReadStream(file), parse({ columns: true, bom: true }), () => undefined))
    yield { at: `row ${++row}`, value: value as unknown }
}
