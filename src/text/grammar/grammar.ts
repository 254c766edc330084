/**
 * JSON texts of a simple kind, as parts one after the other. Texts are compact: no white space between values. Where a part could end or
 * go on, the next character decides: after a value comes a comma, a brace or the end.
 */
export type Part =
  | { readonly kind: 'literal'; readonly text: string }
  /** One of these texts. */
  | { readonly kind: 'choice'; readonly texts: readonly string[] }
  /** Quoted, of at most so many characters (code points). */
  | { readonly kind: 'string'; readonly maxLength: number }
  | { readonly kind: 'number' }
  | { readonly kind: 'integer' }
export type Grammar = readonly Part[]

/** How far a text has come in a grammar. */
export interface Position {
  /** Index of the part; the grammar's length where all are whole. */
  readonly part: number
  /** What has been said of the part. */
  readonly said: string
  /** Of a string: its characters, an escape as one. */
  readonly length: number
  /** Of a string: a backslash was the last character. */
  readonly escaping: boolean
}

export const START: Position = beginningOf(0)

/** Digits on either side of a number's point: what doubles tell apart. */
const MOST_DIGITS = 15
const NUMBER = new RegExp(`^-?(0|[1-9]\\d{0,${MOST_DIGITS - 1}})(\\.\\d{1,${MOST_DIGITS}})?$`)
const BEGUN_NUMBER = new RegExp(`^-?((0|[1-9]\\d{0,${MOST_DIGITS - 1}})(\\.\\d{0,${MOST_DIGITS}})?)?$`)
const INTEGER = new RegExp(`^-?(0|[1-9]\\d{0,${MOST_DIGITS - 1}})$`)
const BEGUN_INTEGER = new RegExp(`^-?(0|[1-9]\\d{0,${MOST_DIGITS - 1}})?$`)
const ESCAPED = '"\\/bfnrt'

/** Where a text leads from a position; undefined where the grammar has no such text. */
export function advance(grammar: Grammar, from: Position, text: string): Position | undefined {
  let position: Position | undefined = from
  for (const character of text) {
    position = step(grammar, position, character)
    if (position === undefined) return undefined
  }
  return position
}

/** Whether the text may end here. */
export function mayEnd(grammar: Grammar, position: Position): boolean {
  const part = grammar[position.part]
  return part === undefined || (position.part === grammar.length - 1 && isWhole(part, position))
}

/** Whether the text must end here. */
export function mustEnd(grammar: Grammar, position: Position): boolean {
  if (position.part >= grammar.length) return true
  const part = grammar[position.part]
  return (
    part?.kind === 'choice' &&
    mayEnd(grammar, position) &&
    !part.texts.some((text) => text !== position.said && text.startsWith(position.said))
  )
}

/** Whether a whole text is one of the grammar's. */
export function matches(grammar: Grammar, text: string): boolean {
  const end = advance(grammar, START, text)
  return end !== undefined && mayEnd(grammar, end)
}

function step(grammar: Grammar, position: Position, character: string): Position | undefined {
  const part = grammar[position.part]
  if (part === undefined) return undefined
  const within = stepWithin(part, position, character)
  if (within) return isClosed(part, within) ? beginningOf(position.part + 1) : within
  return isWhole(part, position) ? step(grammar, beginningOf(position.part + 1), character) : undefined
}

function stepWithin(part: Part, position: Position, character: string): Position | undefined {
  if (part.kind === 'string') return stepInString(part.maxLength, position, character)
  const said = position.said + character
  const goesOn =
    part.kind === 'literal'
      ? part.text.startsWith(said)
      : part.kind === 'choice'
        ? part.texts.some((text) => text.startsWith(said))
        : (part.kind === 'number' ? BEGUN_NUMBER : BEGUN_INTEGER).test(said)
  return goesOn ? { ...position, said } : undefined
}

/** `said` is the opening quote, and both quotes at the end: a string may be long, and its characters need not be known. */
function stepInString(maxLength: number, position: Position, character: string): Position | undefined {
  const { said, length, escaping } = position
  if (said === '') return character === '"' ? { ...position, said: '"' } : undefined
  if (escaping) return ESCAPED.includes(character) ? { ...position, escaping: false, length: length + 1 } : undefined
  if (character === '"') return { ...position, said: '""' }
  if (length >= maxLength || character < ' ') return undefined
  return character === '\\' ? { ...position, escaping: true } : { ...position, length: length + 1 }
}

/** Whether a part is whole, whatever may follow. */
function isWhole(part: Part, { said }: Position): boolean {
  switch (part.kind) {
    case 'literal':
      return said === part.text
    case 'choice':
      return part.texts.includes(said)
    case 'string':
      return said === '""'
    case 'number':
      return NUMBER.test(said)
    case 'integer':
      return INTEGER.test(said)
  }
}

/** Whether a part is whole and cannot go on. */
function isClosed(part: Part, position: Position): boolean {
  return (part.kind === 'literal' || part.kind === 'string') && isWhole(part, position)
}

function beginningOf(part: number): Position {
  return { part, said: '', length: 0, escaping: false }
}
