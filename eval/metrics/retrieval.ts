/** Runs of letters, numbers and marks, or single other visible characters: the DPR/DrQA tokenizer. */
const TOKENS = /[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]/gu

/** Lower-case tokens of the NFD-normalised text. */
function tokenize(text: string): string[] {
  return (text.normalize('NFD').match(TOKENS) ?? []).map((token) => token.toLowerCase())
}

/**
 * Makes a test of whether a passage's text holds one of the answers as a span of whole tokens
 * (DPR's and Contriever's validation with match type "string"; the title does not count).
 */
export function answerFinder(answers: readonly string[]): (text: string) => boolean {
  const wanted = answers.map(tokenize).filter((answer) => answer.length > 0)
  return (text) => {
    const passage = tokenize(text)
    return wanted.some((answer) => passage.some((_, at) => answer.every((token, i) => passage[at + i] === token)))
  }
}

/** 1 where one of the first k ranks (from 1) is among `ranks`. */
export function recallAt(ranks: readonly number[], k: number): number {
  return ranks.some((rank) => rank <= k) ? 1 : 0
}
