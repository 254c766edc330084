import type { Passage } from '../contract.ts'

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}

/** A sentence above `most` words in near-equal parts. */
function breakLong(sentence: readonly string[], most: number): string[][] {
  const parts = Math.ceil(sentence.length / most)
  const size = Math.ceil(sentence.length / parts)
  return Array.from({ length: parts }, (_, i) => sentence.slice(i * size, (i + 1) * size))
}

/**
 * Cuts a document into passages of about `target` words (DPR: Karpukhin et al. 2020 use 100), at sentence ends where
 * one is near. Each keeps the title and source; ids are `doc#1`, `doc#2`, ... A document that fits stays as it is, as `doc#1`.
 */
export function splitDocument(document: Passage, target = 100): Passage[] {
  const most = Math.ceil(target * 1.25)
  const pieces: string[][] = []
  let current: string[] = []
  const flush = (): void => {
    if (current.length > 0) pieces.push(current)
    current = []
  }
  for (const { segment } of sentences.segment(document.text)) {
    for (const part of breakLong(words(segment), most)) {
      if (current.length + part.length > most) flush()
      current.push(...part)
      if (current.length >= target) flush()
    }
  }
  flush()
  return pieces.map((piece, i) => ({ ...document, id: `${document.id}#${i + 1}`, text: piece.join(' ') }))
}
