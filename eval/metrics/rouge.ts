import { stemOf } from './porter.ts'

/** Words up to this length are not stemmed. */
const UNSTEMMED_LENGTH = 3

function words(text: string): string[] {
  return (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).map((word) => (word.length <= UNSTEMMED_LENGTH ? word : stemOf(word)))
}

/**
 * ROUGE-L F of rouge_score (the metric of SCROLLS): lower case, everything but a-z and 0-9 a space, stems of words of more
 * than three letters, longest common subsequence. 0 where either side has no words.
 */
export function rougeL(prediction: string, reference: string): number {
  const [predicted, wanted] = [words(prediction), words(reference)]
  const common = longestCommonSubsequence(predicted, wanted)
  return common === 0 ? 0 : harmonicMean(common / predicted.length, common / wanted.length)
}

function harmonicMean(precision: number, recall: number): number {
  return (2 * precision * recall) / (precision + recall)
}

function longestCommonSubsequence(a: readonly string[], b: readonly string[]): number {
  let previous = new Uint32Array(b.length + 1)
  for (const word of a) {
    const current = new Uint32Array(b.length + 1)
    for (let j = 1; j <= b.length; j++)
      current[j] = word === b[j - 1] ? (previous[j - 1] as number) + 1 : Math.max(previous[j] as number, current[j - 1] as number)
    previous = current
  }
  return previous[b.length] as number
}
