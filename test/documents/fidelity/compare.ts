/** Words that one text has and another lacks, as often as they do. */
export interface WordChanges {
  readonly lost: readonly string[]
  readonly added: readonly string[]
  /** The first word that stands elsewhere, where no word is lost or added. */
  readonly moved?: string
}

export function wordsOf(text: string): string[] {
  return text.normalize('NFC').match(/\S+/g) ?? []
}

/** Compares the words of a document with those of its passages. */
export function wordChanges(expected: readonly string[], found: readonly string[]): WordChanges {
  const lost = without(expected, found)
  const added = without(found, expected)
  const moved = lost.length + added.length === 0 ? expected.find((word, i) => word !== found[i]) : undefined
  return { lost, added, ...(moved !== undefined && { moved }) }
}

function without(words: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const word of others) counts.set(word, (counts.get(word) ?? 0) + 1)
  return words.filter((word) => {
    const left = counts.get(word) ?? 0
    counts.set(word, left - 1)
    return left <= 0
  })
}
