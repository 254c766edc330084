import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { at } from '../../../base/at.ts'
import type { NeedleItem } from '../documents/needle.ts'
import { type ItemsFile, readItems } from '../../datasets/records.ts'
import { VICUNA } from '../documents/generate.ts'
import { POSITIONS } from './generate.ts'

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
  let rows = 0
  return readItems(file, wanted, (value) => {
    const index = rows++
    if (index >= most * ROWS) return undefined
    if (!isRow.Check(value)) return 'no conversations with a prompt and an answer'
    return toItem(at(value.conversations, 0).value, at(value.conversations, 1).value, index)
  })
}

function toItem(prompt: string, answer: string, index: number): NeedleItem {
  const question = `question ${Math.floor(index / ROWS) + 1}`
  const position = at(POSITIONS, Math.floor((index % ROWS) / 2))
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
