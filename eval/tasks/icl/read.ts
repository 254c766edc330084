import path from 'node:path'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { parse } from 'csv-parse'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { ProblemLog } from '../../datasets/problems.ts'
import { fileHash, readRecords } from '../../datasets/records.ts'
import type { Problem } from '../../datasets/question-set.ts'
import type { Labelled } from './demonstrations.ts'

export interface LabelledFile {
  readonly file: string
  readonly sha256: string
  readonly examples: readonly Labelled[]
  readonly problems: readonly Problem[]
}

/**
 * Reads labelled texts from CSV (with a header), TSV, JSON or JSON lines; `_` in a label becomes a space.
 * @throws dataset_invalid where no record has both fields, naming the fields that there are
 */
export async function readLabelled(file: string, textField: string, labelField: string): Promise<LabelledFile> {
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
      else examples.push({ id: at, text: text.trim(), label: String(label).trim().replaceAll('_', ' ') })
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

async function* csv(file: string): AsyncGenerator<{ at: string; value: unknown }> {
  let row = 1
  // A pipeline hands the file's own errors on, which a pipe leaves to end the process.
  for await (const value of pipeline(createReadStream(file), parse({ columns: true, bom: true }), () => undefined))
    yield { at: `row ${++row}`, value: value as unknown }
}
