/** A value of simple JSON. Its `questions` ask for it where it is one of several; null stands for it if it may and no value is named. */
export type Value = (
  | { readonly kind: 'choice'; readonly texts: readonly string[] }
  /** A quoted string of at most this many characters (code points). */
  | { readonly kind: 'string'; readonly maxLength: number }
  | { readonly kind: 'number' | 'integer' }
) & { readonly questions?: readonly string[]; readonly isNullable?: true; readonly isUnsigned?: boolean }
/** A sequence of parts of simple JSON texts. Texts are compact: no white space between values. */
export type Part = { readonly kind: 'literal'; readonly text: string } | Value
export type Grammar = readonly Part[]
/** A value whose decoding is constrained; a string is the answer in words. */
export type Constrained = Exclude<Value, { readonly kind: 'string' }>

/** Digits on either side of the decimal point: the precision of doubles. */
const MOST_DIGITS = 15
const NUMBER = new RegExp(`^-?(0|[1-9]\\d{0,${MOST_DIGITS - 1}})(\\.\\d{1,${MOST_DIGITS}})?$`)
const INTEGER = new RegExp(`^-?(0|[1-9]\\d{0,${MOST_DIGITS - 1}})$`)

export function isValue(part: Part): part is Value {
  return part.kind !== 'literal'
}

/** Whether a text is a whole value. */
export function isWhole(value: Constrained, text: string): boolean {
  if (value.kind === 'choice') return value.texts.includes(text)
  return (value.kind === 'number' ? NUMBER : INTEGER).test(text)
}

/** Whether a text begins a value, or is one. */
export function isBegun(value: Constrained, text: string): boolean {
  if (value.kind === 'choice') return value.texts.some((whole) => whole.startsWith(text))
  // A zero ends every beginning of a number.
  return !(value.isUnsigned && text.startsWith('-')) && (isWhole(value, text) || isWhole(value, `${text}0`))
}

/** Whether a text is a whole value that no other continues. */
export function isFinal(value: Constrained, text: string): boolean {
  return value.kind === 'choice' && isWhole(value, text) && !value.texts.some((whole) => whole !== text && whole.startsWith(text))
}
