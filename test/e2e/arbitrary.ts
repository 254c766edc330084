import fc, { type Arbitrary } from 'fast-check'

/** The JSON Schema keywords of the service's own document. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

/** Longer texts would only be slow. */
const LONGEST_TEXT = 60
const MOST_ITEMS = 3
const LARGEST_NUMBER = 50

const strange: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(
    null,
    true,
    '',
    ' ',
    '\u0000',
    '\ud800',
    -1,
    0,
    1e308,
    2 ** 53,
    0.5,
    [],
    {},
    [[]],
    '../../etc/passwd',
    "' OR 1=1 --",
    'x'.repeat(5000),
  ),
  fc.jsonValue({ maxDepth: 2 }),
  fc.string({ unit: 'binary', maxLength: LONGEST_TEXT }),
)

/**
 * A value that mostly conforms to a schema; sometimes another value, an unknown field, or a missing field.
 * @param tidy only conforming values: otherwise hardly any request with many fields would be answered
 */
export function valueOf(schema: Schema, tidy: boolean): Arbitrary<unknown> {
  if (tidy) return allowed(schema, tidy)
  return fc.oneof({ weight: 12, arbitrary: allowed(schema, tidy) }, { weight: 1, arbitrary: strange })
}

function allowed(schema: Schema, tidy: boolean): Arbitrary<unknown> {
  const { const: only, enum: values, anyOf, oneOf, allOf } = schema
  if (only !== undefined) return fc.constant(only)
  if (values !== undefined) return fc.constantFrom(...values)
  const alternatives = anyOf ?? oneOf
  if (alternatives !== undefined) return fc.oneof(...alternatives.map((one) => valueOf(one, tidy)))
  if (allOf !== undefined) return fc.tuple(...allOf.map((one) => allowed(one, tidy))).map((parts) => Object.assign({}, ...parts) as object)
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [])
  return types.length === 0 ? strange : fc.oneof(...types.map((type) => ofType(type, schema, tidy)))
}

function ofType(type: string, schema: Schema, tidy: boolean): Arbitrary<unknown> {
  switch (type) {
    case 'object':
      return ofObject(schema, tidy)
    case 'array':
      return fc.array(valueOf(schema.items ?? {}, tidy), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.max(schema.minItems ?? 0, MOST_ITEMS),
      })
    case 'string':
      return fc.string({
        minLength: schema.minLength ?? 0,
        maxLength: Math.max(schema.minLength ?? 0, Math.min(LONGEST_TEXT, schema.maxLength ?? Infinity)),
      })
    case 'integer':
      return fc.integer(bounds(schema))
    case 'number':
      return fc.double({ ...bounds(schema), noNaN: true })
    case 'boolean':
      return fc.boolean()
    default:
      return fc.constant(null)
  }
}

function bounds({ minimum, exclusiveMinimum, maximum }: Schema): { min: number; max: number } {
  const min = minimum ?? exclusiveMinimum ?? -LARGEST_NUMBER
  return { min, max: Math.max(min, Math.min(maximum ?? Infinity, LARGEST_NUMBER)) }
}

function ofObject({ properties = {}, required = [] }: Schema, tidy: boolean): Arbitrary<unknown> {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const present = required.includes(name) ? (tidy ? 1 : 0.97) : 0.25
    return fc
      .tuple(fc.double({ min: 0, max: 1, noNaN: true }), valueOf(schema, tidy))
      .map(([chance, value]): [string, unknown][] => (chance <= present ? [[name, value]] : []))
  })
  const unknown = fc.oneof(
    { weight: 15, arbitrary: fc.constant([]) },
    { weight: tidy ? 0 : 1, arbitrary: fc.tuple(fc.tuple(fc.string(), strange)) },
  )
  return fc.tuple(...fields, unknown).map((parts) => {
    const all: [string, unknown][] = parts.flatMap((part) => part as [string, unknown][])
    return Object.fromEntries(all)
  })
}
