import { MINUS } from './words.ts'

const DIGITS = "\\d+(?:[.,'’\\u00A0\\u202F]\\d+)*"
const GROUPED = "\\d{1,3}(?:[,.'’\\u00A0\\u202F]\\d{3})+(?:[.,]\\d+)?"
/** No date, version or address. */
const AMOUNT = `(?:${GROUPED}|\\d+(?:[.,]\\d+)?)`
/** A number of an answer, with what it may have of a sign. */
const NUMBER = new RegExp(`(?:\\p{Sc} ?)?\\(?(?:\\p{Sc} ?)?${DIGITS}(?: ?%)?\\)?`, 'gu')
/**
 * Where the brackets or the minus of an amount are those of accounts: after its currency, as the value of a name, after a verb, in a row of
 * amounts. Brackets after a noun hold a remark ("The fee ($1,250) is due"), those after each number of a row shares or deviations.
 * Spaces are bounded: a look behind that has no bound takes quadratic time.
 */
const SIGNED = [
  `\\p{Sc} ?\\(${AMOUNT}\\)`,
  `(?<=[:;|][ \\t]{0,9})\\(\\p{Sc}? ?${AMOUNT}(?: ?%)?\\)(?=[ \\t]{0,9}(?:[;|.,]|$|(?:thousand|\\p{L}+illion|[mb]n)\\b))`,
  `(?<=\\b(?:is|was|were|are|to) )\\((?:\\p{Sc} ?${AMOUNT}|${AMOUNT} ?%|${GROUPED})\\)`,
  `\\(${AMOUNT}\\)(?=(?:[ \\t]{1,9}\\p{Sc}?${AMOUNT})+[ \\t]{0,9}$|[ \\t]{1,9}\\(${AMOUNT}\\))`,
  `(?<=\\(${AMOUNT}\\)[ \\t]{1,9})\\(${AMOUNT}\\)|(?<=\\d[ \\t]{1,9})\\(${GROUPED}\\)(?=[ \\t]{0,9}$)`,
  `(?<![\\d.,])${AMOUNT}[-−] ?%`,
  `(?<![\\d.,])(?:\\p{Sc} ?)?(?:${GROUPED}|\\d+[.,]\\d\\d)[-−](?=[ \\t]{0,9}(?:[;|]|\\.?[ \\t]{0,9}$(?!\\n\\s*\\d)|\\. ))`,
]
const WRITTEN = new RegExp(`${SIGNED.join('|')}|${DIGITS}`, 'gmu')

/** What may make a number of a text negative. */
export const NEGATIVE = new RegExp(
  `${MINUS} ?[.\\d]|\\d[-−](?![\\p{L}\\p{N}])|\\((?:\\p{Sc}|\\d+[.,%])|\\b(?:minus|negative|below|loss|b\\.?c)`,
  'iu',
)

/**
 * An answer with the sign of its only number, where the passage has that in the way of accounts (`$(1,250)`, `1,250.00-`) and nowhere without
 * it: readers copy the digits alone.
 */
export function asSigned(answer: string, passage: string): string {
  const [found, ...others] = answer.match(NUMBER) ?? []
  if (found === undefined || others.length > 0 || /[-−–()]/.test(answer.replace(found, ''))) return answer
  const number = digitsOf(found)
  const written = new Set(Array.from(passage.matchAll(WRITTEN), ([form]) => form).filter((form) => digitsOf(form) === number))
  const [form = number, ...otherForms] = written
  // A number of a list has no sign: (12).
  const isSigned = otherForms.length === 0 && form !== number && /[\p{Sc}%]|\d\D+\d/u.test(form)
  return isSigned && !answer.includes(form) ? answer.replace(found, () => form) : answer
}

function digitsOf(number: string): string {
  return number.replace(/^\D+|\D+$/g, '')
}
