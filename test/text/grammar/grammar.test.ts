import fc from 'fast-check'
import t from 'tap'
import { grammarOf } from '../../../src/text/grammar/from-schema.ts'
import { advance, matches, mayEnd, mustEnd, START, type Grammar } from '../../../src/text/grammar/grammar.ts'

const RUNS = { numRuns: 300 }
const scalar = fc.oneof(fc.string({ maxLength: 20 }), fc.integer(), fc.boolean(), fc.constant(null))
const printable = (text: string): boolean => !/\p{Cc}/u.test(text)

/** A schema with a value of it. */
const valued: fc.Arbitrary<{ schema: object; value: unknown }> = fc.oneof(
  fc
    .array(
      scalar.filter((value) => typeof value !== 'string' || printable(value)),
      { minLength: 1, maxLength: 8 },
    )
    .chain((values) => fc.constantFrom(...values).map((value) => ({ schema: { enum: values }, value }))),
  fc
    .string({ maxLength: 30, unit: 'binary' })
    .filter((text) => printable(text) && !/\p{Cs}/u.test(text))
    .map((value) => ({ schema: { type: 'string', maxLength: 30, description: 'a text' }, value })),
  fc.integer({ min: -999_999_999, max: 999_999_999 }).map((value) => ({ schema: { type: 'integer' }, value })),
  fc
    .integer({ min: -999_999, max: 999_999 })
    .map((value) => value / 1000)
    .map((value) => ({ schema: { type: 'number' }, value })),
  fc.boolean().map((value) => ({ schema: { type: 'boolean' }, value })),
)
const name = fc.string({ minLength: 1, maxLength: 12 }).filter((text) => printable(text) && text !== '__proto__' && !/^\d+$/.test(text))
const object = fc.dictionary(name, valued, { minKeys: 1, maxKeys: 5, noNullPrototype: true }).map((fields) => {
  const entries = Object.entries(fields)
  const schema = {
    type: 'object',
    properties: Object.fromEntries(entries.map(([key, { schema }]) => [key, schema])),
    required: entries.map(([key]) => key),
    additionalProperties: false,
  }
  return { schema, value: Object.fromEntries(entries.map(([key, { value }]) => [key, value])) }
})
const any = fc.oneof(valued, object)

/** A text that a machine writes by taking characters that the grammar goes on with, as a masked model does. */
function written(grammar: Grammar, choose: (count: number) => number): string {
  const alphabet = [...new Set([...JSON.stringify(grammar), ...'"{}:,-0123456789.abz \\n'])]
  let text = ''
  let position = START
  for (let i = 0; i < 400 && !mustEnd(grammar, position); i++) {
    if (mayEnd(grammar, position) && choose(3) === 0) break
    const open = alphabet.flatMap((character) => {
      const next = advance(grammar, position, character)
      return next ? [{ character, next }] : []
    })
    const taken = open[choose(open.length)]
    if (taken === undefined) break
    text += taken.character
    position = taken.next
  }
  return mayEnd(grammar, position) ? text : ''
}

t.test('every value of a schema is one of its texts, and each of its beginnings goes on', (t) => {
  fc.assert(
    fc.property(any, ({ schema, value }) => {
      const grammar = grammarOf(schema, 'schema')
      const text = JSON.stringify(value)
      if (!matches(grammar, text)) return false
      const characters = [...text]
      return characters.every((_, i) => advance(grammar, START, characters.slice(0, i).join('')) !== undefined)
    }),
    RUNS,
  )
  t.pass('300 schemas')
  t.end()
})

t.test('whatever is written under a grammar is JSON of the schema, however it is cut into tokens', (t) => {
  fc.assert(
    fc.property(any, fc.infiniteStream(fc.nat()), ({ schema }, stream) => {
      const grammar = grammarOf(schema, 'schema')
      const text = written(grammar, (count) => Number(stream.next().value) % Math.max(1, count))
      if (text === '') return true
      fc.pre(matches(grammar, text))
      const half = Math.floor(text.length / 2)
      const between = advance(grammar, START, text.slice(0, half))
      return (
        between !== undefined &&
        advance(grammar, between, text.slice(half)) !== undefined &&
        isOf(schema as Record<string, unknown>, JSON.parse(text) as unknown)
      )
    }),
    RUNS,
  )
  t.pass('300 texts')
  t.end()
})

/** What the subset of JSON schema means, by itself. */
function isOf(schema: Readonly<Record<string, unknown>>, value: unknown): boolean {
  if (Array.isArray(schema['enum'])) return schema['enum'].includes(value)
  if (schema['type'] === 'object') {
    const properties = Object.entries(schema['properties'] as Record<string, Record<string, unknown>>)
    const fields = value as Record<string, unknown>
    return properties.length === Object.keys(fields).length && properties.every(([key, property]) => isOf(property, fields[key]))
  }
  if (schema['type'] === 'string') return typeof value === 'string' && [...value].length <= Number(schema['maxLength'])
  if (schema['type'] === 'integer') return Number.isInteger(value)
  return typeof value === schema['type']
}

t.test('texts that are not of a grammar, and where one must end', (t) => {
  const grammar = grammarOf(
    {
      type: 'object',
      properties: { a: { enum: [1, 12] }, b: { type: 'string', maxLength: 2 } },
      required: ['a', 'b'],
      additionalProperties: false,
    },
    's',
  )
  for (const text of ['{"a":1,"b":"xy"}', '{"a":12,"b":""}', '{"a":1,"b":"\\n\\""}', '{"a":1,"b":"\u{1f600}\u{1f600}"}'])
    t.ok(matches(grammar, text), text)
  for (const text of [
    '',
    '{',
    '{"a":2',
    '{"a":123',
    '{"a":1,"b":"xyz"',
    '{"a":1, "b"',
    '{"a":1,"b":"\n"}',
    '{"a":1,"b":"\\x"',
    '{"a":1,"b":"xy"}}',
    '{"b":""}',
  ])
    t.notOk(matches(grammar, text), JSON.stringify(text))
  for (const [schema, yes, no] of [
    [{ type: 'number' }, ['0', '-1.5', '123456789012345'], ['-', '01', '1.', '1e5', '+1', '1234567890123456']],
    [{ type: 'integer' }, ['0', '-7'], ['1.0', '00', '']],
    [{ type: 'boolean' }, ['true', 'false'], ['True', 'tru']],
    [{ const: null }, ['null'], ['nul']],
  ] as const) {
    const own = grammarOf(schema, 's')
    for (const text of yes) t.ok(matches(own, text), text)
    for (const text of no) t.notOk(matches(own, text), text)
  }
  const end = (schema: object, text: string) => {
    const own = grammarOf(schema, 's')
    const position = advance(own, START, text)
    return position && [mayEnd(own, position), mustEnd(own, position)]
  }
  t.same(end({ enum: [1, 12] }, '1'), [true, false])
  t.same(end({ enum: [1, 12] }, '12'), [true, true])
  t.same(end({ type: 'integer' }, '4'), [true, false])
  t.same(end({ type: 'string', maxLength: 3 }, '"a"'), [true, true])
  t.end()
})

t.test('schemas that decoding is not held to are refused, with the place and what to use', (t) => {
  const one = (property: object) => ({ type: 'object', properties: { p: property }, required: ['p'], additionalProperties: false })
  for (const [schema, field] of [
    [undefined, 's'],
    [[], 's'],
    [{}, 's'],
    [{ type: ['string', 'integer'] }, 's'],
    [{ type: 'array', items: {} }, 's'],
    [{ type: 'string', maxLength: 0 }, 's.maxLength'],
    [{ type: 'string', maxLength: 501 }, 's.maxLength'],
    [{ type: 'integer', enum: ['a'] }, 's.enum'],
    [{ type: 'integer', enum: [1, 1.5] }, 's.enum'],
    [{ type: ['string', 'null'], enum: ['a', 0] }, 's.enum'],
    [{ type: ['object', 'string'], enum: ['a', null] }, 's.enum'],
    [{ type: 'string', const: null }, 's.const'],
    [{ type: 'string', maxLength: 5, pattern: 'a' }, 's.pattern'],
    [one({ $ref: '#/$defs/None' }), 's.properties.p.$ref'],
    [{ ...one({ $ref: '#/$defs/A' }), $defs: { A: { $ref: '#/$defs/A' } } }, 's.properties.p.$ref'],
    [{ $ref: '#/$defs/constructor', $defs: {} }, 's.$ref'],
    [one({ anyOf: [{ type: 'string' }, { type: 'integer' }] }), 's.properties.p'],
    [one({ type: 'null' }), 's.properties.p'],
    [one({ anyOf: [{ type: 'string' }, { type: 'null' }], maxLength: 3 }), 's.properties.p.maxLength'],
    [one({ anyOf: [{ type: 'string' }], oneOf: [{ type: 'integer' }] }), 's.properties.p.oneOf'],
    [{ ...one({ $ref: '#/$defs/A', type: 'string' }), $defs: { A: { type: 'integer' } } }, 's.properties.p.type'],
    [one({ type: 'string', anyOf: [{ maxLength: 3 }, { maxLength: 5 }] }), 's.properties.p.anyOf'],
    [{ type: 'integer', minimum: 0 }, 's.minimum'],
    [{ enum: [] }, 's.enum'],
    [{ enum: [{}] }, 's.enum'],
    [{ enum: ['x'.repeat(201)] }, 's.enum'],
    [{ const: { a: 1 } }, 's.const'],
    [{ const: 'a', enum: ['b', 'c'] }, 's.const'],
    [one({ type: 'string', const: 'a', enum: [] }), 's.properties.p.const'],
    [{ const: Number('9007199254740993') }, 's.const'],
    [{ anyOf: [] }, 's'],
    [{ ...one({ type: 'boolean' }), required: ['p', 'q'] }, 's.required'],
    [{ ...one({ type: 'boolean' }), required: 'p' }, 's.required'],
    [one(one({ type: 'boolean' })), 's.properties.p'],
    [{ type: 'object', properties: {}, required: [], additionalProperties: false }, 's.properties'],
  ] as const)
    t.throws(
      () => grammarOf(schema, 's'),
      { code: 'invalid_request', field, message: /Use enum, const, string, number/ },
      JSON.stringify(schema),
    )
  const written = (schema: object) => grammarOf(schema, 's').map((part) => ('texts' in part ? part.texts : part))
  t.same(written({ type: ['string', 'null'], enum: ['a', null] }), [['"a"', 'null']])
  t.same(written({ type: 'integer', const: 3 }), [['3']])
  t.same(written({ type: ['string', 'null'], const: null }), [['null']])
  // As Pydantic and zod write optional fields, and enumerations that are classes.
  const nullable = (value: object): object[] => [{ anyOf: [value, { type: 'null' }], default: null }, { oneOf: [{ type: 'null' }, value] }]
  for (const schema of [...nullable({ type: 'integer' }), { type: ['integer', 'null'], title: 'Year' }])
    t.same(grammarOf(one(schema), 's'), grammarOf(one({ type: 'integer' }), 's'), JSON.stringify(schema))
  const colours = { Colour: { enum: ['red', 'blue'], type: 'string', title: 'Colour' }, Own: { $ref: '#/$defs/Colour' } }
  for (const schema of [{ $ref: '#/$defs/Colour' }, { $ref: '#/$defs/Own', description: 'x' }, ...nullable({ $ref: '#/$defs/Colour' })])
    t.same(grammarOf({ ...one(schema), $defs: colours }, 's'), grammarOf(one(colours.Colour), 's'), JSON.stringify(schema))
  // As tools that make schemas of classes leave them: nothing required, or nothing said about other properties.
  const { required, additionalProperties, ...plain } = one({ type: 'boolean' })
  for (const more of [{}, { required }, { required: [] }, { required, additionalProperties: true }, { additionalProperties }])
    t.same(written({ ...plain, ...more }), written(one({ type: 'boolean' })))
  t.same(written({ const: 'b', enum: ['a', 'b'] }), [['"b"']])
  const object = (properties: object) => ({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false })
  t.same(
    written(object({ kind: { const: 'city' }, city: { type: 'string' }, is: { enum: [true] } })),
    [
      { kind: 'literal', text: '{"kind":"city"' },
      { kind: 'literal', text: ',"city":' },
      { kind: 'string', maxLength: 500 },
      { kind: 'literal', text: ',"is":true' },
      { kind: 'literal', text: '}' },
    ],
    'values without alternatives are no part of the answer next to others',
  )
  t.same(written(object({ is: { const: 'Canberra' } }))[1], ['"Canberra"'], 'alone it is what the answer names or not')
  t.same(written({ type: 'string', title: 'Capital' }), [{ kind: 'string', maxLength: 500 }], 'as clients derive it from a class')
  const longest = ['x'.repeat(200), '\u{1F600}'.repeat(200), '"'.repeat(200)]
  t.same(grammarOf({ enum: longest }, 's'), [{ kind: 'choice', texts: longest.map((text) => JSON.stringify(text)) }], 'as characters count')
  t.end()
})
