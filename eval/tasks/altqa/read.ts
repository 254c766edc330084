import { Type } from '#typebox'
import { Compile } from '#typebox/compile'
import { at as elementAt } from '../../../base/at.ts'
import type { NeedleItem } from '../documents/needle.ts'
import { type ItemsFile, readItems } from '../../datasets/records.ts'
import { VICUNA } from '../documents/generate.ts'
import { POSITIONS } from './task.ts'

/** A row of Giraffe's WikiQA: the prompt, document and question together, and the answer. */
const isRow = Compile(Type.Object({ conversations: Type.Array(Type.Object({ value: Type.String() }), { minItems: 2 }) }))

/** Rows per question: three positions of the answer, each with the question at the end (even rows) and at the start (odd ones). */
const ROWS = 6

/**
 * Reads the `conversations` records of Giraffe's WikiQA, the rows of the first `most` questions. Positions of answer and question follow
 * from the row's index, as in Giraffe's own evaluation.
 * @throws dataset_invalid
 */
export function readConversations(file: string, most: number): Promise<ItemsFile<NeedleItem>> {
  const wanted = 'nothing to ask: wanted are Giraffe\'s {"conversations": [{"value"}, {"value"}]} records.'
  return readItems(file, wanted, async function* (records, problems) {
    let row = 0
    for await (const { at, value } of records) {
      const index = row++
      if (index >= most * ROWS) return
      if (isRow.Check(value)) yield toItem(elementAt(value.conversations, 0).value, elementAt(value.conversations, 1).value, index)
      else problems.add('no conversations with a prompt and an answer', at)
    }
  })
}

function toItem(prompt: string, answer: string, index: number): NeedleItem {
  const question = `question ${Math.floor(index / ROWS) + 1}`
  const position = elementAt(POSITIONS, Math.floor((index % ROWS) / 2))
  const atEnd = index % 2 === 0
  // The last line is the question, which the decoder always reads in full.
  const cut = atEnd ? prompt.trimEnd().lastIndexOf('\n') + 1 : prompt.length
  return {
    id: `${question}, answer ${position}, question at the ${atEnd ? 'end' : 'start'}`,
    cluster: question,
    groups: { answer_place: position, question_place: atEnd ? 'end' : 'start' },
    document: VICUNA.before + prompt.slice(0, cut),
    question: prompt.slice(cut) + VICUNA.after,
    expected: answer.trim(),
  }
}
