import path from 'node:path'
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { CodedError } from '../../../base/errors.ts'
import { ProblemLog } from '../../datasets/problems.ts'
import { fileHash, readRecords } from '../../datasets/records.ts'
import type { Problem } from '../../datasets/question-set.ts'
import type { NamedFile } from '../../task/contract.ts'
import type { NeedleItem } from '../documents/needle.ts'
import { VICUNA } from '../documents/generate.ts'

/** A test case as LongChat and Giraffe publish them: the whole prompt, and the number asked for. */
const CaseSchema = Type.Object({
  prompt: Type.String({ minLength: 1 }),
  expected_number: Type.Integer({ minimum: 0 }),
  num_lines: Type.Optional(Type.Integer({ minimum: 1 })),
})
const isCase = Compile(CaseSchema)

/** What the question begins with, behind the last line of the record. */
const QUESTION = '\nNow the record is over'

export interface LinesFile {
  readonly items: readonly NeedleItem[]
  readonly files: readonly NamedFile[]
  readonly problems: readonly Problem[]
}

/**
 * Reads published cases of LongChat-Lines (`{prompt, expected_number, num_lines}`), the first `most` of each number of lines.
 * @throws dataset_invalid
 */
export async function readLines(file: string, most: number): Promise<LinesFile> {
  const problems = new ProblemLog()
  const items: NeedleItem[] = []
  const counts = new Map<number, number>()
  for await (const { at, value } of readRecords(file)) {
    if (!isCase.Check(value)) {
      problems.add('no prompt with an expected_number', at)
      continue
    }
    const count = value.num_lines ?? linesOf(value.prompt)
    const number = (counts.get(count) ?? 0) + 1
    counts.set(count, number)
    if (number <= most) items.push(toItem(value, count, number))
  }
  if (items.length === 0)
    throw new CodedError(
      'dataset_invalid',
      `${file} has no case: wanted are LongChat's {"prompt", "expected_number", "num_lines"} records.`,
    )
  return { items, files: [{ file: path.basename(file), sha256: await fileHash(file) }], problems: problems.list() }
}

function linesOf(prompt: string): number {
  return prompt.split('\n').filter((line) => line.startsWith('line ')).length
}

function toItem({ prompt, expected_number: expected }: Static<typeof CaseSchema>, count: number, number: number): NeedleItem {
  const cut = prompt.lastIndexOf(QUESTION)
  const [record, question] = cut < 0 ? [prompt, ''] : [prompt.slice(0, cut), prompt.slice(cut)]
  return {
    id: `${count} lines, case ${number}`,
    groups: { lines: String(count) },
    document: VICUNA.before + record,
    question: question + VICUNA.after,
    expected: String(expected),
  }
}
