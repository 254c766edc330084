import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'

/** Maximum elements of a page, since time grows superlinearly. */
export const MOST_ELEMENTS = 20_000

/** HTML of the article found by Readability; undefined without one. */
export function articleOf(source: string): string | undefined {
  try {
    const window: unknown = parseHTML(source)
    if (typeof window !== 'object' || window === null || !('document' in window)) return undefined
    const { content } = new Readability<string>(window.document, { maxElemsToParse: MOST_ELEMENTS, keepClasses: true }).parse() ?? {}
    return content ?? undefined
  } catch {
    // Too many elements, or a page that breaks either library: use the full text.
    return undefined
  }
}
