import { createHash } from 'node:crypto'
import { attempt } from './errors.ts'

/** Parses a JSON text; undefined if it is invalid (no JSON text has that value). */
export function parseJson(text: string): unknown {
  return attempt(() => JSON.parse(text) as unknown, undefined)
}

/** Control characters, which would break a line or command the terminal. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}]/gu

/** A text with its control characters written as in JSON; a JSON text keeps its value. @param kept those that stay */
export function legible(text: string, kept = '\n\t'): string {
  return text.replace(CONTROLS, (one) => {
    const escaped = JSON.stringify(one).slice(1, -1)
    if (kept.includes(one) || escaped !== one) return kept.includes(one) ? one : escaped
    return `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** Whether a value is an object of JSON: no list, not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** SHA-256 of a value's JSON text. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}

/** A record as it is stored: its values, then their digest, by which a change of a bit is found. */
export function sealed<Value extends object>(record: Value): Value & { readonly sha256: string } {
  return { ...record, sha256: digestOf(record) }
}

/** False if a record's digest is not that of its values: it is damaged. One of earlier software has none. */
export function isIntact({ sha256, ...record }: { readonly sha256?: unknown }): boolean {
  return sha256 === undefined || sha256 === digestOf(record)
}

/** The values of a sealed record, of `{ list }` the list, which earlier software stored alone; undefined if it is damaged. */
export function parseSealed(text: string): unknown {
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null || !('sha256' in value)) return value
  const { sha256: _, ...record } = value
  if (!isIntact(value)) return undefined
  return 'list' in record ? record.list : record
}

/** The problem of a field that `repeatedName` finds. */
export const TWICE = 'is set twice: set it once'

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Path of a name that an object of a JSON text has twice, of which one value is lost; undefined if there is none. */
export function repeatedName(text: string): string | undefined {
  const open: { readonly names?: Set<string>; at: string | number }[] = []
  for (const [token, json, colon] of text.matchAll(/("[^"\\]*(?:\\[^][^"\\]*)*")(\s*:)?|[[\]{},]/g)) {
    const inner = open.at(-1)
    if (token === '{' || token === '[') open.push(token === '[' ? { at: 0 } : { names: new Set(), at: '' })
    else if (token === '}' || token === ']') open.pop()
    else if (token === ',' && typeof inner?.at === 'number') inner.at++
    else if (json !== undefined && colon !== undefined && inner) {
      inner.at = json.includes('\\') ? String(parseJson(json)) : json.slice(1, -1)
      if (inner.names?.has(inner.at)) return open.map(({ at }) => at).join('.')
      inner.names?.add(inner.at)
    }
  }
  return undefined
}

/** Levels of lists and objects in what clients send. */
const MOST_LEVELS = 100
export const TOO_DEEP = `has more than ${MOST_LEVELS} levels of lists and objects`

/** Whether a value has more levels of lists and objects. Recursive functions fail on what JSON.parse reads. */
export function isTooDeep(value: unknown): boolean {
  let level = [value].filter(isNested)
  for (let depth = 0; depth < MOST_LEVELS && level.length > 0; depth++) level = level.flatMap((one) => Object.values(one).filter(isNested))
  return level.length > 0
}

/** The problem of a text that `halfPairIn` finds. */
export const HALF_PAIR = 'holds half of a surrogate pair: it was cut within a character. Cut it elsewhere'

/** Path of the first text or name with half of a surrogate pair, which UTF-8 cannot hold; undefined if there is none, '' for the value itself. */
export function halfPairIn(value: unknown): string | undefined {
  const left = [{ path: '', one: value }]
  for (let next = left.pop(); next; next = left.pop()) {
    const { path, one } = next
    if (typeof one === 'string' && !one.isWellFormed()) return path.toWellFormed()
    for (const [name, inner] of isNested(one) ? Object.entries(one).reverse() : []) {
      const own = path === '' ? name : `${path}.${name}`
      left.push({ path: own, one: inner }, { path: own, one: name })
    }
  }
  return undefined
}

/** Significant digits that a double has of every number: more are rounding errors. */
export const EXACT_DIGITS = 15

/** Whether a number is the one that was written: JSON's integers beyond 2^53 are rounded, unless they have few digits (9.46e15). */
export function isExact(value: number): boolean {
  return !Number.isInteger(value) || Number.isSafeInteger(value) || Number(value.toPrecision(EXACT_DIGITS)) === value
}
