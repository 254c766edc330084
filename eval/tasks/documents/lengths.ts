/** Iterations to approximate a number of tokens. */
const ROUNDS = 6

/**
 * The number of repetitions or characters at which a text has this many tokens, or nearly so: tokens grow about linearly.
 * @param tokensAt tokens of the text of a size
 * @param sample a size with some tokens, for the first guess
 */
export function sizeFor(tokens: number, tokensAt: (size: number) => number, sample: number): number {
  const least = tokensAt(0)
  if (tokens <= least) return 0
  const perSize = Math.max(1e-6, (tokensAt(2 * sample) - tokensAt(sample)) / sample)
  let size = Math.max(0, Math.round((tokens - least) / perSize))
  let best = { size, off: Infinity }
  for (let round = 0; round < ROUNDS; round++) {
    const off = tokens - tokensAt(size)
    if (Math.abs(off) < Math.abs(best.off)) best = { size, off }
    const next = Math.max(0, size + Math.round(off / perSize))
    if (off === 0 || next === size) break
    size = next
  }
  return best.size
}

/** Token counts of a prompt: the divisible part, and the part that always stays in the decoder. */
export interface Lengths {
  readonly document: number
  readonly question: number
}

/**
 * Keeps the numbers of encoder tokens (ascending, 0 for none) that give the encoder more of some document than the previous one: others
 * would repeat its prompts.
 * @param lengths read until one is long enough
 * @param promptTokens of the decoder
 */
export function reachingEncoder(
  encoderTokens: readonly number[],
  lengths: Iterable<Lengths>,
  promptTokens: number,
): { readonly reached: readonly number[]; readonly idle: readonly number[] } {
  const left = lengths[Symbol.iterator]()
  let longest = 0
  const overflows = (tokens: number): boolean => {
    while (longest <= tokens) {
      const next = left.next()
      if (next.done === true) return false
      longest = Math.max(longest, next.value.document - Math.max(0, promptTokens - next.value.question))
    }
    return true
  }
  const [reached, idle]: [number[], number[]] = [[], []]
  for (const tokens of encoderTokens) {
    const before = reached.at(-1) ?? 0
    if (tokens === 0 || overflows(before)) reached.push(tokens)
    else idle.push(tokens)
  }
  return { reached, idle }
}
