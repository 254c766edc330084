/**
 * A sequence of parts of simple JSON texts. Texts are compact: no white space between values. If a part could end or continue, the next
 * character decides: a value is followed by a comma, a brace or the end.
 */
export type Part =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'choice'; readonly texts: readonly string[] }
  /** A quoted string of at most this many characters (code points); `trimmed`: white space does not begin it. */
  | { readonly kind: 'string'; readonly maxLength: number; readonly trimmed?: boolean }
  | { readonly kind: 'number' }
  | { readonly kind: 'integer' }
export type Grammar = readonly Part[]

/** Position of a text within a grammar. */
export interface Position {
  /** Index of the current part; the grammar's length at the end. */
  readonly part: number
  /** Text of the current part so far. */
  readonly said: string
  /** For a string: its number of characters; an escape counts as one. */
  readonly length: number
  /** For a string: true after a backslash. */
  readonly escaping: boolean
}

export const START: Position = beginningOf(0)

/** Digits on either side of the decimal point: the precision of doubles. */
const MOST_DIGITS = 15
const NUMBER = new RegExp(`^-?(0|[1-9]\\d{0,${MOST_DIGITS - 1}})(\\.\\d{1,${MOST_DIGITS}})?$`)
const BEGUN_NUMBER = new RegExp(`^-?((0|[1-9]\\d{0,${MOST_DIGITS - 1}})(\\.\\d{0,${MOST_DIGITS}})?)?$`)
const INTEGER = new RegExp(`^-?(0|[1-9]\\d{0,${MOST_DIGITS - 1}})$`)
const BEGUN_INTEGER = new RegExp(`^-?(0|[1-9]\\d{0,${MOST_DIGITS - 1}})?$`)
const ESCAPED = '"\\/bfnrt'
const ESCAPED_SPACE = 'bfnrt'

/** Advances a position by text; undefined if the grammar does not allow it. */
export function advance(grammar: Grammar, from: Position, text: string): Position | undefined {
  let position: Position | undefined = from
  for (const character of text) {
    position = advanceOne(grammar, position, character)
    if (position === undefined) return undefined
  }
  return position
}

/** The text that must follow: the rest of a literal, and literals after it. */
export function forced(grammar: Grammar, { part, said }: Position): string {
  const next = grammar[part]
  return next?.kind !== 'literal' ? '' : next.text.slice(said.length) + forced(grammar, beginningOf(part + 1))
}

/** Whether the text may end here. */
export function mayEnd(grammar: Grammar, position: Position): boolean {
  const part = grammar[position.part]
  return part === undefined || (position.part === grammar.length - 1 && isWhole(part, position))
}

/** Whether the text must end here. */
export function mustEnd(grammar: Grammar, position: Position): boolean {
  const part = grammar[position.part]
  if (part?.kind !== 'choice') return part === undefined
  return mayEnd(grammar, position) && !part.texts.some((text) => text !== position.said && text.startsWith(position.said))
}

/** Whether a complete text matches the grammar. */
export function matches(grammar: Grammar, text: string): boolean {
  const end = advance(grammar, START, text)
  return end !== undefined && mayEnd(grammar, end)
}

function advanceOne(grammar: Grammar, position: Position, character: string): Position | undefined {
  const part = grammar[position.part]
  if (part === undefined) return undefined
  const within = advancePart(part, position, character)
  const canContinue = part.kind !== 'literal' && part.kind !== 'string'
  if (within) return canContinue || !isWhole(part, within) ? within : beginningOf(position.part + 1)
  return isWhole(part, position) ? advanceOne(grammar, beginningOf(position.part + 1), character) : undefined
}

function advancePart(part: Part, position: Position, character: string): Position | undefined {
  if (part.kind === 'string') return advanceString(part, position, character)
  const said = position.said + character
  const goesOn =
    part.kind === 'literal'
      ? part.text.startsWith(said)
      : part.kind === 'choice'
        ? part.texts.some((text) => text.startsWith(said))
        : (part.kind === 'number' ? BEGUN_NUMBER : BEGUN_INTEGER).test(said)
  return goesOn ? { ...position, said } : undefined
}

/** `said` is only the opening quote, and both at the end: the characters of a string need not be kept. */
function advanceString({ maxLength, trimmed = false }: Extract<Part, { kind: 'string' }>, position: Position, character: string) {
  const { said, length, escaping } = position
  if (said === '') return character === '"' ? { ...position, said: '"' } : undefined
  if (trimmed && length === 0 && (escaping ? ESCAPED_SPACE.includes(character) : /\s/.test(character))) return undefined
  if (escaping) return ESCAPED.includes(character) ? { ...position, escaping: false, length: length + 1 } : undefined
  if (character === '"') return { ...position, said: '""' }
  if (length >= maxLength || character < ' ') return undefined
  return character === '\\' ? { ...position, escaping: true } : { ...position, length: length + 1 }
}

function isWhole(part: Part, { said }: Position): boolean {
  if (part.kind === 'literal') return said === part.text
  if (part.kind === 'choice') return part.texts.includes(said)
  return part.kind === 'string' ? said === '""' : (part.kind === 'number' ? NUMBER : INTEGER).test(said)
}

function beginningOf(part: number): Position {
  return { part, said: '', length: 0, escaping: false }
}
