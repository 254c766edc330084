import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import type { NeedleItem } from '../documents/needle.ts'
import { type ItemsFile, readItems } from '../../datasets/records.ts'
import { VICUNA } from '../documents/generate.ts'

/** A test case as published by LongChat and Giraffe: the whole prompt, and the expected number. */
const CaseSchema = Type.Object({
  prompt: Type.String({ minLength: 1 }),
  expected_number: Type.Integer({ minimum: 0 }),
  num_lines: Type.Optional(Type.Integer({ minimum: 1 })),
})
const isCase = Compile(CaseSchema)

/** Start of the question after the last line of the record. */
const QUESTION = '\nNow the record is over'

/**
 * Reads published cases of LongChat-Lines (`{prompt, expected_number, num_lines}`), the first `most` per number of lines.
 * @throws dataset_invalid
 */
export function readLines(file: string, most: number): Promise<ItemsFile<NeedleItem>> {
  const wanted = 'no case: wanted are LongChat\'s {"prompt", "expected_number", "num_lines"} records.'
  const counts = new Map<number, number>()
  return readItems(file, wanted, (value) => {
    if (!isCase.Check(value)) return 'no prompt with an expected_number'
    const count = value.num_lines ?? linesOf(value.prompt)
    const number = (counts.get(count) ?? 0) + 1
    counts.set(count, number)
    return number <= most ? toItem(value, count, number) : undefined
  })
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
