import { Type, type Static } from 'typebox'
import { HALF_PAIR, halfPairIn, isExact, isObject, parseJson, repeatedName } from '../base/json.ts'

const METADATA_LIMITS = {
  fields: 32,
  nameCharacters: 64,
  textCharacters: 1000,
  listValues: 64,
  /** Of the JSON, in UTF-8. */
  bytes: 4096,
} as const

const ValueSchema = Type.Union([
  Type.String({ maxLength: METADATA_LIMITS.textCharacters }),
  Type.Number(),
  Type.Boolean(),
  Type.Null(),
  Type.Array(Type.String({ maxLength: METADATA_LIMITS.textCharacters }), { maxItems: METADATA_LIMITS.listValues }),
])
export type MetadataValue = Static<typeof ValueSchema>

/** Any name, also one with a line separator: values under names that the pattern leaves out would be neither checked nor sent. */
export const MetadataNameSchema = Type.String({ pattern: '^[\\s\\S]*$' })

/** Named values of a passage in addition to its text; not nested. */
export const PassageMetadataSchema = Type.Record(MetadataNameSchema, ValueSchema, {
  title: 'PassageMetadata',
  maxProperties: METADATA_LIMITS.fields,
  description: `Named strings, numbers, booleans, nulls or lists of strings; can be filtered. At most ${METADATA_LIMITS.fields}, and ${METADATA_LIMITS.bytes} bytes of JSON.`,
})
export type PassageMetadata = Readonly<Static<typeof PassageMetadataSchema>>

/** Validated metadata, or the problem; neither if there is none. */
interface CheckedMetadata {
  readonly metadata?: PassageMetadata
  readonly problem?: string
  /** Names of nested fields that were dropped. */
  readonly leftOut?: readonly string[]
}

/** Control characters, lone surrogates, blank names, and `__proto__`. */
const BAD_NAME = /[\u0000-\u001f\u007f]|\p{Surrogate}|^\s*$|^__proto__$/u

/**
 * Validates metadata of a corpus or a request, and sorts its names.
 * @param given an object, its JSON, or nothing
 * @param nested whether to refuse or drop fields that hold objects, or lists of anything but strings
 */
export function checkMetadata(given: unknown, nested: 'refuse' | 'leave out' = 'refuse'): CheckedMetadata {
  if (given === undefined || given === null || given === '') return {}
  const value = typeof given === 'string' ? parseJson(given) : given
  if (!isObject(value)) return { problem: 'The metadata is not a JSON object.' }
  const twice = typeof given === 'string' ? repeatedName(given) : undefined
  if (twice !== undefined) return { problem: `The metadata has the name ${JSON.stringify(twice)} twice: keep one.` }
  const present = Object.entries(value).filter(([, one]) => one !== undefined)
  const all = present.sort(([a], [b]) => (a < b ? -1 : 1))
  const entries = nested === 'refuse' ? all : all.filter(([, one]) => !isNested(one))
  const leftOut = entries.length === all.length ? {} : { leftOut: all.flatMap(([name, one]) => (isNested(one) ? [name] : [])) }
  const { fields, bytes } = METADATA_LIMITS
  if (entries.length > fields) return { problem: `The metadata has ${entries.length} fields; at most ${fields} are allowed.` }
  for (const [name, one] of entries) {
    const problem = nameProblem(name) ?? valueProblem(one)
    if (problem !== undefined) return { problem: `The metadata field ${JSON.stringify(name.slice(0, 80))} ${problem}.` }
  }
  if (entries.length === 0) return leftOut
  const metadata = Object.fromEntries(entries.map(([name, one]) => [name, inForm(one)]))
  const size = Buffer.byteLength(JSON.stringify(metadata))
  return size > bytes ? { problem: `The metadata has ${size} bytes of JSON; at most ${bytes} are allowed.` } : { metadata, ...leftOut }
}

/** True if a value is an object, or a list of anything but strings. */
function isNested(value: unknown): boolean {
  if (Array.isArray(value)) return !value.every((one) => typeof one === 'string')
  return typeof value === 'object' && value !== null && !(value instanceof Date)
}

/** Characters are code points, as in all limits: most emoji and rare ideographs are one, but two UTF-16 units. */
export function isLonger(text: string, most: number): boolean {
  return text.length > most && (text.length > 2 * most || Array.from(text).length > most)
}

export const INEXACT = 'is not an exact integer: write it as a string'

function nameProblem(name: string): string | undefined {
  if (isLonger(name, METADATA_LIMITS.nameCharacters)) return `has a name of more than ${METADATA_LIMITS.nameCharacters} characters`
  return BAD_NAME.test(name) ? 'has no usable name: it is blank, reserved or holds control characters' : undefined
}

function valueProblem(value: unknown): string | undefined {
  const { textCharacters, listValues } = METADATA_LIMITS
  const tooLong = (text: string): boolean => isLonger(text, textCharacters)
  if (halfPairIn(value) !== undefined) return HALF_PAIR
  if (typeof value === 'number' && !Number.isFinite(value)) return 'is not a finite number'
  if (typeof value === 'number') return isExact(value) ? undefined : INEXACT
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? undefined : INEXACT
  if (value === null || typeof value === 'boolean' || value instanceof Date) return undefined
  if (typeof value === 'string') return tooLong(value) ? `is longer than ${textCharacters} characters` : undefined
  if (!Array.isArray(value)) return 'is neither a string, a number, true, false, null nor a list of strings'
  if (value.length > listValues) return `has ${value.length} values; at most ${listValues} are allowed`
  if (!value.every((one) => typeof one === 'string')) return 'is a list, but not one of strings'
  return value.some(tooLong) ? `holds a string longer than ${textCharacters} characters` : undefined
}

/** @param value a valid one. Parquet yields 64-bit integers and dates. */
function inForm(value: unknown): MetadataValue {
  if (typeof value === 'bigint') return Number(value)
  // JSON has no negative zero.
  if (typeof value === 'number') return value + 0
  if (typeof value === 'string') return value
  if (value instanceof Date) return value.toISOString()
  return Array.isArray(value) ? value.map(String) : value === null ? null : value === true
}
