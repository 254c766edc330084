import { seededRandom, type Random } from '../../../base/random.ts'

export const POSITIONS = ['start', 'anywhere', 'end'] as const
type Position = (typeof POSITIONS)[number]

/** Largest change of a year, which remains a year. */
const YEAR_SPAN = 10

/** Another number with as many digits; for a year another one near it. A one-digit number has nine alternatives. */
export function otherNumber(number: string, random: Random): string {
  const value = Number(number)
  const year = /^\d{4}$/.test(number) && value >= 1000 && value <= 2100
  for (;;) {
    const other = year
      ? String(value - YEAR_SPAN + Math.floor(random() * (2 * YEAR_SPAN + 1)))
      : Array.from(number, (_, i) => (i === 0 && number.length > 1 ? 1 + Math.floor(random() * 9) : Math.floor(random() * 10))).join('')
    if (other !== number) return other
  }
}

/** Replaces every occurrence of a number as a separate token. */
export function replaceNumber(text: string, number: string, other: string): string {
  return text.replace(new RegExp(`(?<![\\d.,])${number}(?![\\d]|[.,]\\d)`, 'g'), other)
}

/**
 * A document of about `characters` with the gold paragraph in the first tenth, anywhere, or in the last tenth. Other paragraphs keep their
 * order, from the first.
 */
export function insertParagraph(
  gold: string,
  others: readonly string[],
  { characters, position }: { readonly characters: number; readonly position: Position },
  { seed, item }: { readonly seed: number; readonly item: string },
): string {
  const chosen: string[] = []
  let size = gold.length
  for (const paragraph of others) {
    if (size + paragraph.length > characters) break
    chosen.push(paragraph)
    size += paragraph.length
  }
  const random = seededRandom('place', seed, item, position)
  const tenth = Math.floor(chosen.length / 10)
  const at = {
    start: Math.floor(random() * (tenth + 1)),
    anywhere: Math.floor(random() * (chosen.length + 1)),
    end: chosen.length - Math.floor(random() * (tenth + 1)),
  }[position]
  return [...chosen.slice(0, at), gold, ...chosen.slice(at)].join('\n')
}
