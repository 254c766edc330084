/** ASCII punctuation, as Python's string.punctuation. */
const PUNCTUATION = /[!-/:-@[-`{-~]/g
/** Articles between word boundaries as Python's `re` sees them: letters, numbers and the underscore are word characters in every script. */
const ARTICLES = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu
/** White space as Python's str.split: JavaScript's without U+FEFF, with the separators U+001C to U+001F and U+0085. */
const SPACES = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u

/** SQuAD's normalisation (official evaluation script): lower case, no punctuation, no articles, single spaces. */
function normalizeAnswer(text: string): string {
  return tokens(text.toLowerCase().replace(PUNCTUATION, '').replace(ARTICLES, ' ')).join(' ')
}

function tokens(text: string): string[] {
  return text.split(SPACES).filter((token) => token !== '')
}

type Score = (prediction: string, gold: string) => number

/** 1 if both are equal after normalisation. */
export const exactMatch: Score = (prediction, gold) => (normalizeAnswer(prediction) === normalizeAnswer(gold) ? 1 : 0)

/** Answers without partial credit. */
const CLOSED_ANSWERS: ReadonlySet<string> = new Set(['yes', 'no', 'noanswer'])

/**
 * Harmonic mean of token precision and recall after normalisation (SQuAD 2.0's script: two empty texts agree). If one side is yes, no or
 * noanswer, 0 unless both are equal (HotpotQA's script, as in the published evaluation).
 */
export const f1: Score = (prediction, gold) => {
  const [given, right] = [normalizeAnswer(prediction), normalizeAnswer(gold)]
  if (given !== right && (CLOSED_ANSWERS.has(given) || CLOSED_ANSWERS.has(right))) return 0
  const predicted = tokens(given)
  const wanted = tokens(right)
  if (predicted.length === 0 || wanted.length === 0) return predicted.length === wanted.length ? 1 : 0
  return fMeasure(sharedCount(predicted, wanted), predicted, wanted)
}

/** How many values both lists have, each as often as the list with fewer. */
export function sharedCount(predicted: readonly string[], wanted: readonly string[]): number {
  const left = new Map<string, number>()
  for (const value of wanted) left.set(value, (left.get(value) ?? 0) + 1)
  return predicted.filter((value) => {
    const count = left.get(value) ?? 0
    left.set(value, count - 1)
    return count > 0
  }).length
}

/** Harmonic mean of precision and recall; 0 without shared values. */
export function fMeasure(shared: number, predicted: readonly string[], wanted: readonly string[]): number {
  if (shared === 0) return 0
  const [precision, recall] = [shared / predicted.length, shared / wanted.length]
  return (2 * precision * recall) / (precision + recall)
}

/** 1 if the normalised prediction contains the normalised answer. An answer of articles and punctuation only never matches. */
export const substringMatch: Score = (prediction, gold) => {
  const wanted = normalizeAnswer(gold)
  return wanted !== '' && normalizeAnswer(prediction).includes(wanted) ? 1 : 0
}

/** PopQA's own accuracy (Mallen et al. 2023): the prediction contains the answer as written, in lower case, or capitalised. */
export const popqaMatch: Score = (prediction, gold) =>
  gold !== '' &&
  [gold, gold.toLowerCase(), gold.charAt(0).toUpperCase() + gold.slice(1).toLowerCase()].some((form) => prediction.includes(form))
    ? 1
    : 0

export function bestOver(score: Score, prediction: string, answers: readonly string[]): number {
  return Math.max(0, ...answers.map((gold) => score(prediction, gold)))
}
