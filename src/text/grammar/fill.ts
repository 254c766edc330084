import { at } from '../../../base/at.ts'
import { MINUS, plainText } from '../words.ts'
import { isValue, isWhole, type Constrained, type Grammar, type Value } from './grammar.ts'
import { POWERS, TH, UNREAD, withDigits } from './number-words.ts'

/** How an answer in words names the values of a boolean. */
const BOOLEANS: ReadonlyMap<string, readonly string[]> = new Map([
  ['true', ['true', 'yes']],
  ['false', ['false', 'no']],
])
/** A number with its sign and currency. */
const NUMBER = new RegExp(
  `(?:${MINUS}|(?<![\\p{L}\\p{N}])(?:minus|negative)[ \\u00A0]\\p{Sc}?|\\p{Sc})?(?:\\d+(?:[,'’\\u00A0\\u2009\\u202F]\\d{3}(?!\\d))*(?:\\.\\d+)?|(?<![\\p{L}\\p{N}.])\\.\\d+)`,
  'giu',
)
/** Powers of ten. */
const SCALES = new Map([...POWERS, ['hundred', 2], ['lakh', 5], ['crore', 7], ['bn', 9]])
/** Words after a number that change its value: 5½, 10⁶, 2 dozen, 2 and a half, 1 half, 3 millions, 2 thirds, 5 hundredths, 5 below, 10 to the sixth. */
const CHANGES_NUMBER = new RegExp(
  `^(?:\\p{No}|(?:and|dozen|score|grand|fold|squared|cubed|half|halves|to the|(?:degrees? )?(?:below|under)|(?:twen|thir|for|fif|six|seven|eigh|nine)ties|(?:third|quarter|${TH}|(?:hundred|thousand|\\w+illion)(?:th)?)s?)(?![^ ]))`,
  'u',
)
/** Letters after an amount of money. */
const SCALES_OF_MONEY = new Map([...SCALES, ['k', 3], ['m', 6], ['b', 9], ['t', 12]])
/** What may be a power of ten or a unit after another number (20K), or makes it a decade (1980s). */
const UNCLEAR = /^(?:['’]?s| ?[kK]|[MBT])(?![\p{L}\p{N}])/u
/** What may be a sign (- 5, ±5, 5-), or changes the number after it: not 5, half past 5, a few hundred and 5. */
const CHANGED_BEFORE =
  /(?:^\s*[-−–] |±) ?$|\b(?:not|never|(?:half|quarter|dozen|score|hundred|thousand|[a-z]+illion)s?)(?:,? (?:and|past|to|of|a single))? $/i
const SIGN_AFTER = /^[-−–](?![\p{L}\p{N}])/u
/** A number that is named again in brackets. */
const AGAIN = /(?<![\p{L}\p{N}.,])(\d+(?:,\d{3})*) \((\d+(?:,\d{3})*)\)/gu
/** An amount alone in brackets, with its currency. */
const BRACKETED = /(?:(\p{Sc}) ?)?\((\p{Sc}?)(\d[\d,.]*(?: ?%)?)\)( ?\p{L}+)?/u
/** The beginning of an answer that is a number: "about 300", "more than 2 tons". */
const AMOUNT =
  /^\P{L}*(?:(?:minus|negative|about|around|approximately|roughly|some|circa|nearly|almost|only|exactly|over|under|(?:more|less|fewer) than|at (?:least|most)|up to) \P{L}*)?\d/iu
/** Words that make the number before them negative. */
const NEGATED = /^(?:degrees? )?(?:[cf] |celsius |centigrade |fahrenheit )?below (?:zero|freezing)\b|^(?:bce?|b c)\b/
/** "Not Canberra" does not name Canberra. */
const NEGATION = / (?:not|no(?! -?\d)|never|neither|nor|none|without|isn t|wasn t) /

/** The value that an answer in words determines, if there is one. An amount ("14 kilograms") is no string where numbers are wanted. */
export function determined(grammar: Grammar, answer: string): Value | undefined {
  const values = grammar.filter(isValue)
  const isAmount = AMOUNT.test(withDigits(answer))
  const numbers = values.filter((part) => part.kind !== 'string' && part.kind !== 'choice' && valueIn(part, answer) !== undefined)
  const strings = values.filter(({ kind }) => kind === 'string')
  const fitting = isAmount && numbers.length > 0 ? numbers : strings.length === 1 ? strings : values
  return fitting.length === 1 ? fitting[0] : undefined
}

/** The JSON text of a string that is an answer, as far as it may be. */
export function stringIn({ maxLength }: Extract<Value, { readonly kind: 'string' }>, answer: string): string {
  return JSON.stringify(shortened(answer, maxLength))
}

/** A value to decode in words, and the conversion of those to its JSON text. */
export function inWords(value: Constrained): { readonly value: Constrained; json(words: string): string } {
  if (value.kind !== 'choice') return { value, json: (words) => words }
  const texts = new Map(value.texts.flatMap((text) => namesOf(text).map((name) => [name, text])))
  // An answer that ends early stands for the first choice that it begins.
  const named = (words: string) => [...texts].find(([name]) => name.startsWith(words))?.[1]
  return { value: { kind: 'choice', texts: [...texts.keys()] }, json: (words) => texts.get(words) ?? named(words) ?? words }
}

/** The words for a value of an enumeration, given as JSON. */
function namesOf(json: string): readonly string[] {
  const value: unknown = JSON.parse(json)
  return typeof value === 'string' && value.trim() !== '' ? [value.trim()] : (BOOLEANS.get(json) ?? [json])
}

/** The JSON text of the value that an answer names; undefined if it names none, or several. */
export function valueIn(part: Constrained, answer: string): string | undefined {
  if (part.kind === 'choice') return choiceIn(part.texts, answer)
  const [number, ...others] = numbersIn(answer)
  return number !== undefined && others.length === 0 && isWhole(part, number) ? number : undefined
}

/** A text whose amount in brackets has a minus, as in accounts, or is named with and without it where it may be a year or a remark. */
function unbracketed(text: string): string {
  const found = BRACKETED.exec(text)
  if (!found) return text
  const [whole, before = '', within = '', number = '', scale = ''] = found
  const isAmount = /[\p{Sc}%,.]/u.test(before + within + number) || SCALES.has(scale.trim())
  const isFirst = text.slice(0, found.index).trim() === ''
  const amount = `${before || within}${number}${scale}`
  const told = isFirst && isAmount ? `-${amount}` : isFirst || isAmount ? `-${amount} or ${amount}` : whole
  return text.replace(whole, () => told)
}

/** The numbers of an answer as decimals; undefined for one of another notation. */
function numbersIn(given: string): (string | undefined)[] {
  const answer = unbracketed(
    withDigits(given).replace(AGAIN, (both, one: string, again: string) => (decimalOf(one) === decimalOf(again) ? one : both)),
  )
  const numbers = Array.from(answer.matchAll(NUMBER), ({ 0: said, index }) => {
    const rest = answer.slice(index + said.length)
    const powers = /\p{Sc}/u.test(said) ? SCALES_OF_MONEY : SCALES
    const words = `${plainText(rest)} `.split(' ')
    const scales = words.findIndex((word) => !powers.has(word))
    const after = words.slice(scales).join(' ')
    // As accounts have it: 1,250.00-.
    const isNegative = /\d[.,]\d/.test(said) && SIGN_AFTER.test(rest)
    const isNegated = isNegative || NEGATED.test(after)
    if ((!isNegated && CHANGES_NUMBER.test(after)) || (powers === SCALES && UNCLEAR.test(rest))) return undefined
    if (CHANGED_BEFORE.test(answer.slice(0, index)) || (!isNegative && SIGN_AFTER.test(rest))) return undefined
    const power = words.slice(0, scales).reduce((sum, word) => sum + (powers.get(word) ?? 0), 0)
    const decimal = decimalOf(said)
    return shifted(isNegated && !decimal.startsWith('-') ? `-${decimal}` : decimal, power)
  })
  return UNREAD.test(answer) ? [undefined, ...numbers] : numbers
}

function decimalOf(number: string): string {
  return (/^[\p{Sc}.\d]/u.test(number) ? '' : '-') + number.replace(/[^.\d]/g, '').replace(/^\./, '0.')
}

/** A decimal times a power of ten. In binary 8.2e9 is not 8.2 * 1e9, and long integers are rounded. */
function shifted(decimal: string, power: number): string {
  const [whole = '', fraction = ''] = decimal.split('.')
  const digits = fraction.padEnd(power, '0')
  const integer = (whole + digits.slice(0, power)).replace(/^(-?)0+(?=\d)/, '$1')
  const rest = digits.slice(power).replace(/0+$/, '')
  return rest === '' ? integer : `${integer}.${rest}`
}

function choiceIn(texts: readonly string[], answer: string): string | undefined {
  // A number is one word, with its sign and decimals.
  const plain = (text: string): string =>
    ` ${plainText(unbracketed(withDigits(text)).replace(NUMBER, (number) => decimalOf(number).replace('.', 'p')))} `
  const said = plain(answer)
  if (said.trim() === '') return texts.find((text) => text === 'null' || text === '""')
  const numbers = numbersIn(answer).map(Number)
  const isNumber = (text: string): boolean => /^-?\d/.test(text)
  // "2 dozen" is not 2.
  const isUnclear = (name: string): boolean => numbers.includes(NaN) && /^ -?[\dp]+ $/.test(name)
  const isMeant = (name: string): boolean => (!NEGATION.test(said) || NEGATION.test(name)) && !isUnclear(name)
  const named = (is: (name: string) => boolean): readonly string[] =>
    texts.filter((text) =>
      isNumber(text)
        ? numbers.includes(Number(text)) && isMeant('')
        : namesOf(text).some((name) => is(plain(name)) && isMeant(plain(name))),
    )
  for (const is of [
    (name: string) => name === said,
    (name: string) => name.trim() !== '' && said.includes(name),
    (name: string) => name.includes(said),
  ]) {
    const found = named(is)
    if (found.length > 0) return found.length === 1 ? found[0] : undefined
  }
  return undefined
}

/** A text of at most `most` characters (code points), cut between words where there are several. */
function shortened(text: string, most: number): string {
  const characters = [...text]
  if (characters.length <= most) return text
  const cut = characters.slice(0, most).join('')
  return (/\s/.test(at(characters, most)) ? cut : cut.replace(/(?<=\S)\s+\S*$/, '')).trimEnd()
}
