import { groupsOf, joinedText, sentenceUnits, SURPLUS } from './units.ts'
import type { Passage } from '../contract.ts'

export interface Part {
  readonly passage: Passage
  /** On the last passage: the number of passages of the document. */
  readonly parts?: number
}

/**
 * Splits a document into passages of about `target` words (DPR: Karpukhin et al. 2020 use 100), at sentence ends where one is near, in
 * linear time. White space inside a passage is kept. Each passage keeps title and source; ids are `doc#1`, `doc#2`, ...
 * @example
 * ```ts
 * import { splitDocument } from './index/read/split.ts'
 *
 * for (const { passage } of splitDocument({ id: 'doc', title: 'Handbook', text: 'A long text. Of many sentences.' }, 100)) console.log(passage.id)
 * ```
 */
export function* splitDocument(document: Passage, target = 100): Generator<Part> {
  const units = [...sentenceUnits(document.text, Math.ceil(target * SURPLUS))]
  let number = 0
  let ready: Passage | undefined
  for (const group of groupsOf(units, target)) {
    if (ready !== undefined) yield { passage: ready }
    ready = { ...document, id: `${document.id}#${++number}`, text: joinedText(group) }
  }
  if (ready !== undefined) yield { passage: ready, parts: number }
}
