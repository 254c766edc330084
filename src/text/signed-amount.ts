const DIGITS = "\\d+(?:[.,'’\\u00A0\\u202F]\\d+)*"
const NUMBER = new RegExp(`(?:\\p{Sc} ?)?${DIGITS}(?: ?%)?`, 'gu')
/** Brackets with a currency, after a name or before the next amount are those of accounts; others hold a remark: "the rate (4.5%)". */
const OPEN = '(?:\\p{Sc} ?\\(|\\(\\p{Sc} ?|(?<=(?:^|[:;|])\\s*)\\()'
const BEFORE_NEXT = '(?=[ \\t]*(?:$|\\(?\\p{Sc}?\\d))'
/** A number, with its sign if it is negative. */
const WRITTEN = new RegExp(
  `${OPEN}${DIGITS} ?%?\\)|\\(${DIGITS} ?%?\\)${BEFORE_NEXT}|(?:\\p{Sc} ?)?${DIGITS}[-−–](?: ?%|(?![\\p{L}\\p{N}]))|${DIGITS}`,
  'gmu',
)

/**
 * An answer with the sign of its only number, where the passage has that in the way of accounts (`$(1,250)`, `1,250.00-`) and nowhere without
 * it: readers copy the digits alone.
 */
export function asSigned(answer: string, passage: string): string {
  const [found, ...others] = answer.match(NUMBER) ?? []
  if (found === undefined || others.length > 0) return answer
  const number = digitsOf(found)
  const written = new Set(Array.from(passage.matchAll(WRITTEN), ([form]) => form).filter((form) => digitsOf(form) === number))
  const [form = number, ...otherForms] = written
  // A number of a list and an open range of years have no sign: (12), 2019-.
  const isSigned = otherForms.length === 0 && form !== number && /[\p{Sc}%]|\d\D+\d/u.test(form)
  return isSigned && !answer.includes(form) ? answer.replace(found, () => form) : answer
}

function digitsOf(number: string): string {
  return number.replace(/^\D+|\D+$/g, '')
}
