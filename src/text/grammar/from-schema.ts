import { isExact, isObject } from '../../../base/json.ts'
import { invalidRequest, type CodedError } from '../../../base/errors.ts'
import type { Grammar, Part, Value } from './grammar.ts'

/** Limits of a JSON schema for constrained decoding. */
const GRAMMAR_LIMITS = { properties: 16, nameCharacters: 64, choices: 100, choiceCharacters: 200, stringCharacters: 500 } as const

type Schema = Readonly<Record<string, unknown>>
type Resolved = readonly [Schema, Pick<Value, 'isNullable'>]

/** Keywords without effect on validity, and those that only a `$ref` reads. */
const ANNOTATIONS = ['title', 'description', 'default', 'examples', '$schema', '$id', '$comment', '$defs', 'definitions']
/** A chain of more references is taken for a circle. */
const MOST_REFERENCES = 8
/** Supported keywords per type. */
const KEYWORDS = new Map<unknown, readonly string[]>(Object.entries({ string: ['maxLength'], number: [], integer: [], boolean: [] }))
const REMEDY = 'Use enum, const, string, number, integer, boolean, or an object of these, and leave other keywords out.'

/**
 * Converts a JSON schema to a grammar: an enumeration, a string (of `GRAMMAR_LIMITS.stringCharacters` without `maxLength`), a number, an
 * integer, a boolean, or an object of these, whose properties are all written, in order.
 * @param field name of the schema in errors
 * @throws invalid_request naming the unsupported part and the alternatives
 */
export function grammarOf(schema: unknown, field: string): Grammar {
  const root = schemaAt(schema, field)
  const [checked, isNull] = resolved(root, field, root)
  return checked['type'] === 'object' ? objectOf(checked, field, root) : [{ ...valueOf(checked, field), ...isNull }]
}

/** The schema that a `$ref` names, or the only alternative to null, and whether it or one on the way there allows null. */
function resolved(schema: Schema, field: string, root: Schema, passed: readonly Schema[] = []): Resolved {
  const all = [...passed, schema]
  const keyword = ['$ref', 'anyOf', 'oneOf'].find((name) => name in schema)
  if (keyword === undefined) {
    const type = 'enum' in schema || 'const' in schema ? undefined : notNull(schema['type'])
    return [type === undefined ? schema : { ...schema, type }, all.some(isNullable) ? { isNullable: true } : {}]
  }
  const named = schema[keyword]
  const only = notNull(named)
  // What stands next to it has to hold, too.
  if (keyword === '$ref' || only !== undefined) refuseUnknown(schema, [keyword], field)
  if (only !== undefined) return resolved(schemaAt(only, field), field, root, all)
  if (keyword !== '$ref') return [schema, {}]
  const [, group = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(typeof named === 'string' ? named : '') ?? []
  const target = Object.entries(Object(root[group]) as Schema).find(([key]) => key === name)?.[1]
  if (target === undefined || passed.length >= MOST_REFERENCES)
    throw refused(`${field}.$ref`, 'must name a schema of $defs or definitions, as in #/$defs/Name')
  return resolved(schemaAt(target, field), field, root, all)
}

/** The only type or schema of a list next to that of null; undefined if there is none, or several. */
function notNull(list: unknown): unknown {
  const others = Array.isArray(list) ? list.filter((one) => !isNull(one)) : []
  return others.length === 1 ? others[0] : undefined
}

function isNull(one: unknown): boolean {
  return one === 'null' || (isObject(one) && one['type'] === 'null')
}

function isNullable(schema: Schema): boolean {
  // An enumeration names null itself.
  return !('enum' in schema || 'const' in schema) && [schema['type'], schema['anyOf'], schema['oneOf']].flat().some(isNull)
}

function objectOf(schema: Schema, field: string, root: Schema): Grammar {
  refuseUnknown(schema, ['type', 'properties', 'required', 'additionalProperties'], field)
  const properties = Object.entries(schemaAt(schema['properties'] ?? {}, `${field}.properties`))
  if (properties.length === 0 || properties.length > GRAMMAR_LIMITS.properties)
    throw refused(`${field}.properties`, `has ${properties.length} properties: 1 to ${GRAMMAR_LIMITS.properties} can be written`)
  const { required = [] } = schema
  // All properties are written, and no others: an object is valid whatever else may be left out or added.
  if (!Array.isArray(required) || required.some((wanted) => !properties.some(([name]) => name === wanted)))
    throw refused(`${field}.required`, 'must be a list of names in properties: no others are written')
  const parts = properties.map(([name, property], i): readonly [string, Value] => {
    const path = `${field}.properties.${name}`
    if (name.length > GRAMMAR_LIMITS.nameCharacters || !isPrintable(name))
      throw refused(path, `has a name of more than ${GRAMMAR_LIMITS.nameCharacters} characters, or with control characters`)
    const own = schemaAt(property, path)
    const [checked, isNull] = resolved(own, path, root)
    const value = valueOf(checked, path)
    const questions = questionsOf(name, own['description'], value)
    return [`${i === 0 ? '{' : ','}${JSON.stringify(name)}:`, { ...value, questions, ...isNull }]
  })
  const isOpen = parts.some(([, value]) => onlyChoice(value) === undefined)
  const written = parts.flatMap(([name, value]): Part[] => {
    const only = isOpen ? onlyChoice(value) : undefined
    return only === undefined ? [{ kind: 'literal', text: name }, value] : [{ kind: 'literal', text: name + only }]
  })
  return [...written, { kind: 'literal', text: '}' }]
}

/** Names of what the request asks for. */
const ASKED_FOR = /^(?:final )?(?:answer|value|result|response|output|text|content)$/

/** A description that names something by what it belongs to ("place of birth"), not a remark about its form. */
const PHRASE =
  /^(?:(?:the|an?) )?(?!.*\b(?:null|if|unless|whether|is|are|must|should|not|format|string|text|json)\b)(?=.* (?:of|in|on|at|for|to|per|by|from|with|that|who|which) )([\p{L}\p{N}'’-]+(?: [\p{L}\p{N}'’-]+){2,7})\.?$/iu

/** The questions for a property: its description if that is a question, else one for its name, and one for a phrase that describes it. */
function questionsOf(name: string, description: unknown, value: Value): readonly string[] {
  const told = typeof description === 'string' ? description.trim() : ''
  if (told.endsWith('?')) return [told]
  const spaced = name.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').replace(/[_-]+/g, ' ')
  const words = spaced.trim().toLowerCase()
  if (ASKED_FOR.test(words)) return []
  const isBoolean = value.kind === 'choice' && value.texts.includes('true')
  if (isBoolean) return [/^(?:is|are|was|were|has|have|had|does|do|did|can|may|must) /.test(words) ? `${words}?` : `Is it ${words}?`]
  const phrase = PHRASE.exec(told)?.[1]?.replace(/^\p{Lu}(?=\p{Ll})/u, (letter) => letter.toLowerCase())
  return [words, ...(phrase === undefined ? [] : [phrase])].map((asked) => `What is the ${asked}?`)
}

/** The text of a value without alternatives, which says nothing next to others. */
function onlyChoice(value: Value): string | undefined {
  return value.kind === 'choice' && value.texts.length === 1 ? value.texts[0] : undefined
}

function valueOf(schema: Schema, field: string): Value {
  if ('const' in schema || 'enum' in schema) return choiceOf(schema, field)
  const { type } = schema
  const keywords = KEYWORDS.get(type)
  if (keywords === undefined)
    throw refused(field, type === undefined ? 'has no type' : `has the type ${JSON.stringify(type)}, which is not supported`)
  refuseUnknown(schema, ['type', ...keywords], field)
  if (type === 'boolean') return { kind: 'choice', texts: ['true', 'false'] }
  if (type === 'number' || type === 'integer') return { kind: type }
  const { maxLength = GRAMMAR_LIMITS.stringCharacters } = schema
  if (typeof maxLength !== 'number' || !Number.isInteger(maxLength) || maxLength < 1 || maxLength > GRAMMAR_LIMITS.stringCharacters)
    throw refused(`${field}.maxLength`, `must be a whole number from 1 to ${GRAMMAR_LIMITS.stringCharacters}`)
  return { kind: 'string', maxLength }
}

function choiceOf(schema: Schema, field: string): Value {
  refuseUnknown(schema, ['type', 'enum', 'const'], field)
  const { const: only, enum: among = [only] } = schema
  const values = Array.isArray(among) && 'const' in schema ? among.filter((value) => value === only) : among
  const own = `${field}.${'const' in schema ? 'const' : 'enum'}`
  const isScalar = (value: unknown): boolean => value === null || ['string', 'number', 'boolean'].includes(typeof value)
  const form = `must be a list of 1 to ${GRAMMAR_LIMITS.choices} strings, numbers, true, false or null, and const one of its values`
  if (!Array.isArray(values) || values.length === 0 || values.length > GRAMMAR_LIMITS.choices || !values.every(isScalar))
    throw refused(own, form)
  if (values.some((value) => typeof value === 'number' && !isExact(value)))
    throw refused(own, 'has an integer that JSON rounds: give it as a string')
  const { type } = schema
  if (type !== undefined && !values.every((value) => [type].flat().some((name) => isOf(name, value))))
    throw refused(own, `has a value that is not of the type ${JSON.stringify(type)}`)
  const texts = values.map((value) => JSON.stringify(value))
  if (values.some((value) => Array.from(String(value)).length > GRAMMAR_LIMITS.choiceCharacters) || !texts.every(isPrintable))
    throw refused(own, `has a value of more than ${GRAMMAR_LIMITS.choiceCharacters} characters, or with control characters`)
  return { kind: 'choice', texts: [...new Set(texts)] }
}

function isOf(type: unknown, value: unknown): boolean {
  return value === null ? type === 'null' : type === typeof value || (type === 'integer' && Number.isInteger(value))
}

function schemaAt(value: unknown, field: string): Schema {
  if (isObject(value)) return value
  throw refused(field, 'must be an object')
}

function refuseUnknown(schema: Schema, known: readonly string[], field: string): void {
  for (const keyword of Object.keys(schema))
    if (!known.includes(keyword) && !ANNOTATIONS.includes(keyword))
      throw refused(`${field}.${keyword}`, 'is not supported for constrained decoding')
}

function isPrintable(text: string): boolean {
  return !/\p{Cc}/u.test(text)
}

function refused(field: string, problem: string): CodedError {
  return invalidRequest(field, `${field} ${problem}. ${REMEDY}`)
}
