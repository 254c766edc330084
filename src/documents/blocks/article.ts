import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'

/** Elements above which a page is not looked through: the time grows faster than their number. */
const MOST_ELEMENTS = 20_000

/** The HTML of what Readability takes for a page's article; undefined where it finds none. */
export function articleOf(source: string): string | undefined {
  try {
    const window: unknown = parseHTML(source)
    if (typeof window !== 'object' || window === null || !('document' in window)) return undefined
    const { content } = new Readability<string>(window.document, { maxElemsToParse: MOST_ELEMENTS, keepClasses: true }).parse() ?? {}
    return content ?? undefined
  } catch {
    // Too many elements, or a page that breaks either library: its whole text is taken.
    return undefined
  }
}
