const MONTHS = 'january|february|march|april|may|june|july|august|september|october|november|december'
const DATE = new RegExp(`\\b(?:1\\d{3}|20\\d{2})\\b|\\b(?:${MONTHS})\\b \\d|\\d (?:${MONTHS})\\b`, 'i')
const NUMBER_WORDS =
  /^(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion)\b/i

/** What kind of thing the first gold answer looks like; a rule of thumb for breaking scores down, not a classifier. */
export function answerType(answer: string): string {
  if (/^(?:yes|no|true|false)$/i.test(answer.trim())) return 'yes/no'
  if (DATE.test(answer)) return 'date'
  if (/\d/.test(answer) || NUMBER_WORDS.test(answer.trim())) return 'number'
  return /\p{Lu}/u.test(answer) ? 'name' : 'phrase'
}

/** Popularity bucket of a subject by its monthly Wikipedia page views (PopQA's s_pop), one per decade. */
export function popularityBucket(views: number): string {
  const decade = Math.min(5, Math.max(1, Math.floor(Math.log10(Math.max(views, 1)))))
  if (decade === 1) return '< 10^2'
  return decade === 5 ? '>= 10^5' : `10^${decade} - 10^${decade + 1}`
}
