/** English number words in order of their values: 0 to 19, then tens from 20. */
const SMALL =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')
const VALUES = new Map([...SMALL.map((word, i) => [word, i] as const), ...TENS.map((word, i) => [word, 20 + 10 * i] as const)])
/** Words for powers of ten after a number below a thousand, and their exponents. */
export const POWERS: ReadonlyMap<string, number> = new Map(Object.entries({ thousand: 3, million: 6, billion: 9, trillion: 12 }))

/** "No one" and "one of them" have no number, "below zero" is a sign, and "twenty-first" is an ordinal. */
const SINGLE = `(?<!\\b(?:no|some|any|every|each)[- ])one\\b(?!['’]| (?:of|another)\\b)|(?<!\\b(?:below|above) )zero\\b`
const ORDINAL = '(?!-(?:first|second|third|\\w+th)\\b)'
const BELOW_100 = `(?:(?:${TENS.join('|')})\\b${ORDINAL}(?:[- ](?:${SMALL.slice(1, 10).join('|')})\\b)?|(?:${SMALL.slice(2).join('|')})\\b|${SINGLE})`
const BELOW_1000 = `${BELOW_100}(?:[- ]hundred\\b(?: (?:and )?${BELOW_100})?)?`
const NUMBER = new RegExp(`\\b${BELOW_1000}(?:[- ](?:${[...POWERS.keys()].join('|')})\\b(?:,? (?:and )?${BELOW_1000})?)*`, 'gi')

/** A text with digits for its English numbers in words: two hundred and six is 206. */
export function withDigits(text: string): string {
  return text.replace(NUMBER, (words) => digitsOf(words) ?? words)
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
