import { contentId, prefixOf } from '../../../index/read/row-ids.ts'
import type { DocumentPassage } from '../../documents/schema.ts'

/** The source of a file's passages. */
export function sourceOf(file: string, label: string | undefined): string {
  return label === undefined ? file : `${label.replace(/\/+$/, '')}/${file}`
}

/**
 * Ids of a file's passages: `path/to/file.md#4kJq0Zr2vX1b`. They are derived from the content, not the position, so that a passage keeps
 * its id while its title and text stay the same. Equal passages get different ids.
 */
export function passageIds(
  source: string,
  passages: readonly Pick<DocumentPassage, 'title' | 'text'>[],
): { readonly prefix: string; readonly rest: readonly string[] } {
  const counts = new Map<string, number>()
  const rest = passages.map(({ title, text }) => {
    const content = JSON.stringify([title, text])
    const number = (counts.get(content) ?? 0) + 1
    counts.set(content, number)
    return contentId(title, text, number)
  })
  return { prefix: prefixOf(source), rest }
}
