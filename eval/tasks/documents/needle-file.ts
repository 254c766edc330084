import path from 'node:path'
import { CodedError } from '../../../base/errors.ts'
import { type Problem, ProblemLog, type RawRecord } from '../../datasets/question-set.ts'
import { fileHash, readRecords } from '../../datasets/records.ts'
import type { NamedFile } from '../../task/contract.ts'
import type { NeedleItem } from './needle.ts'

/** Published items of a task with their file. */
export interface NeedleFile {
  readonly items: readonly NeedleItem[]
  readonly files: readonly NamedFile[]
  readonly problems: readonly Problem[]
}

/**
 * Reads the items of a published file.
 * @param wanted the expected content, for the error message
 * @throws dataset_invalid
 */
export async function readNeedles(
  file: string,
  wanted: string,
  itemsOf: (records: AsyncIterable<RawRecord>, problems: ProblemLog) => AsyncIterable<NeedleItem>,
): Promise<NeedleFile> {
  const problems = new ProblemLog()
  const items: NeedleItem[] = []
  for await (const item of itemsOf(readRecords(file), problems)) items.push(item)
  if (items.length === 0) throw new CodedError('dataset_invalid', `${file} has ${wanted}`)
  return { items, files: [{ file: path.basename(file), sha256: await fileHash(file) }], problems: problems.list() }
}
