import { createHash } from 'node:crypto'
import type { DocumentPassage } from '../../documents/passages/contract.ts'

/** Of an id's hash: 72 bits. */
const HASH_CHARACTERS = 12
/** A longer path is hashed: an id has 512 bytes at most. */
const LONGEST_PATH = 400
const CONTROLS = /[\u0000-\u001f\u007f]/

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** The source of a file's passages. */
export function sourceOf(file: string, label: string | undefined): string {
  return label === undefined ? file : `${label.replace(/\/+$/, '')}/${file}`
}

/**
 * Ids of a file's passages: `path/to/file.md#4kJq0Zr2vX1b`, by what they say and not by their place, so that a passage keeps its id as
 * long as its title and text stay. Of several that say the same each has its own.
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
    return hashOf(number === 1 ? content : `${content}${number}`).slice(0, HASH_CHARACTERS)
  })
  return { prefix: prefixOf(source), rest }
}

/** What the ids of a source's passages begin with. */
export function prefixOf(source: string): string {
  const isPlain = Buffer.byteLength(source) <= LONGEST_PATH && !CONTROLS.test(source)
  return `${isPlain ? source : hashOf(source)}#`
}
