import type { DocumentRequest } from './request.ts'

/** A line `=== BEGIN ===` or `=== BEGIN OF FILE ===`, and one `=== END ===` or `=== END OF FILE ===`. */
const BEGIN = /^=== *BEGIN(?: OF FILE)? *===[^\S\n]*\r?$\n?/m
const END = /^=== *END(?: OF FILE)? *===[^\S\n]*\r?$/gm

/**
 * Parses a text with instruction, document and question, with the document between a BEGIN and an END line (as in the long-paper prompts of
 * Chen et al., 2023, "Extending context window of large language models via position interpolation"); undefined for other texts. The last
 * END line counts: a paper may contain one.
 */
export function readPromptFile(text: string): Pick<DocumentRequest, 'head' | 'from' | 'to' | 'query'> | undefined {
  const begin = BEGIN.exec(text)
  if (begin === null) return undefined
  const from = begin.index + begin[0].length
  const end = [...text.matchAll(END)].findLast(({ index }) => index >= from)
  if (end === undefined || text.slice(end.index + end[0].length).trim() === '') return undefined
  // The line break before the marker belongs to the query, which is then unchanged.
  const to = Math.max(from, end.index - 1)
  return { head: text.slice(0, from), from, to, query: text.slice(to) }
}
