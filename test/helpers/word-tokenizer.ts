import type { PromptTokenizer } from '../../src/text/pack.ts'

/** A tokenizer whose tokens are words, line breaks and runs of spaces: exact, so that expectations can be counted by hand. */
export function wordTokenizer(): PromptTokenizer & { readonly stopIds: readonly number[] } {
  const ids = new Map<string, number>([
    ['<bos>', 0],
    ['\n', 1],
  ])
  const words: string[] = ['<bos>', '\n']
  const idOf = (word: string): number => {
    const known = ids.get(word)
    if (known !== undefined) return known
    ids.set(word, words.length)
    words.push(word)
    return words.length - 1
  }
  return {
    bosId: 0,
    stopIds: [1],
    encode: (text, { maxTokens } = {}) => (text.match(/\n| ?[^\s]+| +/g) ?? []).slice(0, maxTokens).map(idOf),
    decode: (tokens) => tokens.map((id) => words[id] ?? '').join(''),
  }
}
