/** English number words in order of their values: 0 to 19, then tens from 20. */
const SMALL =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')
const VALUES = new Map([['a', 1], ...SMALL.map((word, i) => [word, i] as const), ...TENS.map((word, i) => [word, 20 + 10 * i] as const)])
/** Words for powers of ten after a number below a thousand, and their exponents. */
export const POWERS: ReadonlyMap<string, number> = new Map(Object.entries({ thousand: 3, million: 6, billion: 9, trillion: 12 }))

const GAP = '[-\u2010\u2011\\s]'
const SCALE = `(?:hundred|${[...POWERS.keys()].join('|')})\\b`
/** What a lone "one", "zero" or "a hundred" may follow: "no one", "the one", "below zero" and "half a million" are other numbers, or none. */
const FREE = `(?<=^|[^\\p{L}\\p{N}\\s'’-]\\s*|\\b(?:only|just|exactly|about|over|nearly|almost|around|least|most|number|minus|negative|${SCALE}(?:${GAP}and)?)${GAP})`
const ALONE = `(?!['’]|${GAP}(?:of|another|by|at|after|on|to)\\b|[-\u2010\u2011])`
const SINGLE = `one(?=${GAP}${SCALE})|${FREE}(?:a(?=${GAP}${SCALE})|(?:one|zero)\\b${ALONE})`
const BELOW_100 = `(?:(?:${TENS.join('|')})\\b(?:${GAP}(?:${SMALL.slice(1, 10).join('|')})\\b)?|(?:${SMALL.slice(2).join('|')})\\b|${SINGLE})`
const BELOW_1000 = `${BELOW_100}(?:${GAP}hundred\\b(?:${GAP}(?:and${GAP})?${BELOW_100})?)?`
const NUMBER = new RegExp(
  `\\b${BELOW_1000}(?:${GAP}(?:${[...POWERS.keys()].join('|')})\\b(?:,?${GAP}(?:and${GAP})?${BELOW_1000})?)*`,
  'giu',
)
/** Ordinals from four on. */
export const TH = '(?:four|fif|six|seven|eigh|nin|ten|eleven|twelf|\\w+teen|\\w+tie)th'
/** A number of tens, hundreds or more, and what makes it an ordinal (twenty-first). */
const [BEFORE_ORDINAL, ORDINAL] = [
  /(?:ty|ed|and|ion)$/i,
  new RegExp(`^${GAP}(?:(?:and|${TENS.join('|')})${GAP})*(?:first|second|third|${TH})\\b`, 'i'),
]
/** Forty two-bedroom flats are 40, and forty-two-page books have 42. */
const COMPOUND = /^[-\u2010\u2011]\p{L}/u
/** A number in words that was not read: an ordinal, one whose parts are unclear, or digits by their names (nine one one). */
export const UNREAD = new RegExp(
  `\\b(?:${[...SMALL.slice(2), ...TENS].join('|')})\\b|\\d${GAP}(?:one|zero|oh|nought|naught)\\b|\\b(?:one|zero|oh)${GAP}\\d`,
  'iu',
)

/** A text with digits for its English numbers in words: two hundred and six is 206. Readers leave out the "a" that an answer begins with. */
export function withDigits(given: string): string {
  const text = given.replace(new RegExp(`^(?=${SCALE})`, 'i'), 'a ')
  return text.replace(NUMBER, (words, at: number) => {
    const rest = text.slice(at + words.length)
    const isUnclear = BEFORE_ORDINAL.test(words) ? ORDINAL.test(rest) : /\s/.test(words) && COMPOUND.test(rest)
    return (isUnclear ? undefined : digitsOf(words)) ?? words
  })
}

/** @returns undefined for a number whose powers do not fall (two thousand million) */
function digitsOf(text: string): string | undefined {
  let [sum, group, least] = [0, 0, Infinity]
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
    const power = POWERS.get(word)
    if (power !== undefined) {
      if (power >= least) return undefined
      ;[sum, group, least] = [sum + group * 10 ** power, 0, power]
    } else group = word === 'hundred' ? group * 100 : group + (VALUES.get(word) ?? 0)
  }
  return String(sum + group)
}
