/** Runs of letters, numbers and marks, or single other visible characters: the DPR/DrQA tokenizer. */
const TOKENS = /[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]/gu

/** Lower-case tokens of the NFD-normalised text. */
function tokenize(text: string): string[] {
  return (text.normalize('NFD').match(TOKENS) ?? []).map((token) => token.toLowerCase())
}

/**
 * Returns a test whether a passage's text contains one of the answers as a span of tokens (DPR's and Contriever's validation with match
 * type "string"; the title does not count).
 */
export function answerFinder(answers: readonly string[]): (text: string) => boolean {
  const wanted = answers.map(tokenize).filter((answer) => answer.length > 0)
  return (text) => {
    const passage = tokenize(text)
    return wanted.some((answer) => passage.some((_, at) => answer.every((token, i) => passage[at + i] === token)))
  }
}

/** 1 if one of `ranks` (from 1) is at most k. */
export function recallAt(ranks: readonly number[], k: number): number {
  return ranks.some((rank) => rank <= k) ? 1 : 0
}

/** 1 / the smallest of `ranks` (from 1) up to k, else 0; its mean over questions is MRR@k. */
export function reciprocalRankAt(ranks: readonly number[], k: number): number {
  const first = Math.min(...ranks)
  return first <= k ? 1 / first : 0
}

/**
 * Normalised discounted cumulative gain at k with binary relevance (Jarvelin and Kekalainen 2002; discount log2(rank + 1), as trec_eval).
 * @param ranks of the relevant passages found, from 1
 * @param relevant their total number; if unknown, the number found
 */
export function ndcgAt(ranks: readonly number[], k: number, relevant = ranks.length): number {
  const gain = (of: readonly number[]): number => of.filter((rank) => rank <= k).reduce((sum, rank) => sum + 1 / Math.log2(rank + 1), 0)
  const ideal = gain(Array.from({ length: relevant }, (_, i) => i + 1))
  return ideal === 0 ? 0 : gain(ranks) / ideal
}
