import fc from 'fast-check'
import t from 'tap'
import { grammarOf } from '../../../src/text/grammar/from-schema.ts'
import { isBegun, isFinal, isWhole, type Constrained } from '../../../src/text/grammar/grammar.ts'

const RUNS = { numRuns: 300 }

/** The only value of a schema. */
function valueOf(schema: object): Constrained {
  const [value, ...others] = grammarOf(schema, 's')
  if (value === undefined || others.length > 0 || value.kind === 'literal' || value.kind === 'string') throw new Error('not one value')
  return value
}

/** A schema with a value of it. */
const valued: fc.Arbitrary<{ schema: object; value: unknown }> = fc.oneof(
  fc
    .array(fc.oneof(fc.string({ maxLength: 20 }), fc.integer(), fc.boolean(), fc.constant(null)), { minLength: 1, maxLength: 8 })
    .filter((values) => values.every((value) => !/\p{Cc}/u.test(String(value))))
    .chain((values) => fc.constantFrom(...values).map((value) => ({ schema: { enum: values }, value }))),
  fc.integer({ min: -999_999_999, max: 999_999_999 }).map((value) => ({ schema: { type: 'integer' }, value })),
  fc.integer({ min: -999_999, max: 999_999 }).map((value) => ({ schema: { type: 'number' }, value: value / 1000 })),
  fc.boolean().map((value) => ({ schema: { type: 'boolean' }, value })),
)

/** A text of characters that the value allows next, as a masked model writes it. */
function written(value: Constrained, choose: (count: number) => number): string {
  const alphabet = [...new Set([...JSON.stringify(value), ...'"-0123456789.abz \\n'])]
  let text = ''
  for (let i = 0; i < 60 && !isFinal(value, text) && !(isWhole(value, text) && choose(3) === 0); i++) {
    const open = alphabet.filter((character) => isBegun(value, text + character))
    text += open[choose(open.length)] ?? ''
  }
  return isWhole(value, text) ? text : ''
}

t.test('every value of a schema is one of its texts, and each of its beginnings may continue', (t) => {
  fc.assert(
    fc.property(valued, ({ schema, value }) => {
      const [own, text] = [valueOf(schema), JSON.stringify(value)]
      return isWhole(own, text) && [...text].every((_, i) => isBegun(own, text.slice(0, i)))
    }),
    RUNS,
  )
  t.pass('300 schemas')
  t.end()
})

t.test('whatever is written under a constraint is JSON of the schema', (t) => {
  fc.assert(
    fc.property(valued, fc.infiniteStream(fc.nat()), ({ schema }, stream) => {
      const text = written(valueOf(schema), (count) => Number(stream.next().value) % Math.max(1, count))
      return text === '' || isOf(schema as Record<string, unknown>, JSON.parse(text) as unknown)
    }),
    RUNS,
  )
  t.pass('300 texts')
  t.end()
})

/** What the subset of JSON schema means, by itself. */
function isOf(schema: Readonly<Record<string, unknown>>, value: unknown): boolean {
  if (Array.isArray(schema['enum'])) return schema['enum'].includes(value)
  return schema['type'] === 'integer' ? Number.isInteger(value) : typeof value === schema['type']
}

t.test('texts that are not of a value, and where one must end', (t) => {
  for (const [schema, yes, no] of [
    [{ type: 'number' }, ['0', '-1.5', '123456789012345'], ['-', '01', '1.', '1e5', '+1', '1234567890123456']],
    [{ type: 'integer' }, ['0', '-7'], ['1.0', '00', '']],
    [{ type: 'boolean' }, ['true', 'false'], ['True', 'tru']],
    [{ const: null }, ['null'], ['nul']],
    [{ enum: [1, 12] }, ['1', '12'], ['2', '123', '']],
  ] as const) {
    const own = valueOf(schema)
    for (const text of yes) t.ok(isWhole(own, text), text)
    for (const text of no) t.notOk(isWhole(own, text), text)
  }
  const ones = valueOf({ enum: [1, 12] })
  t.same([isFinal(ones, '1'), isFinal(ones, '12')], [false, true])
  t.equal(isFinal(valueOf({ type: 'integer' }), '4'), false)
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
    t.match(grammarOf(one(schema), 's')[1], { kind: 'integer', isNullable: true }, JSON.stringify(schema))
  // Null may be allowed where a reference leads, or of an only value.
  const defs = { $defs: { Year: { type: ['integer', 'null'] }, Maybe: { anyOf: [{ $ref: '#/$defs/Year' }] } } }
  for (const name of ['Year', 'Maybe'])
    t.match(grammarOf({ ...one({ $ref: `#/$defs/${name}` }), ...defs }, 's')[1], { kind: 'integer', isNullable: true }, name)
  for (const schema of [...nullable({ type: 'integer' }), defs.$defs.Year, { $ref: '#/$defs/Year', ...defs }])
    t.same(grammarOf(schema, 's'), [{ kind: 'integer', isNullable: true }], JSON.stringify(schema))
  const chosen = { type: ['string', 'null'], enum: ['a', 'b'] }
  t.notOk('isNullable' in (grammarOf(one(chosen), 's')[1] ?? {}), 'an enumeration without null')
  t.match(grammarOf(one({ anyOf: [chosen, { type: 'null' }] }), 's')[1], { isNullable: true })
  const colours = { Colour: { enum: ['red', 'blue'], type: 'string', title: 'Colour' }, Own: { $ref: '#/$defs/Colour' } }
  for (const schema of [{ $ref: '#/$defs/Colour' }, { $ref: '#/$defs/Own', description: 'x' }, ...nullable({ $ref: '#/$defs/Colour' })])
    t.same(written({ ...one(schema), $defs: colours }), written(one(colours.Colour)), JSON.stringify(schema))
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
      { kind: 'string', maxLength: 500, questions: ['What is the city?'] },
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

t.test('each property is asked for by its name, then by a phrase that describes it, or by its description alone', (t) => {
  const questions = (name: string, property: object): unknown => {
    const [, value] = grammarOf({ type: 'object', properties: { [name]: property } }, 's')
    return value && 'questions' in value ? value.questions : undefined
  }
  const place = ['What is the where?', 'What is the place of birth?']
  for (const [name, property, expected] of [
    ['start_date', { type: 'string' }, ['What is the start date?']],
    ['startDate', { type: 'string' }, ['What is the start date?']],
    ['weight-kg', { type: 'number' }, ['What is the weight kg?']],
    ['kind', { enum: ['a', 'b'] }, ['What is the kind?']],
    ['is_open', { type: 'boolean' }, ['is open?']],
    ['paid', { type: ['boolean', 'null'] }, ['Is it paid?']],
    ['paid', { type: 'boolean', description: 'state of the payment' }, ['Is it paid?']],
    ['rent', { type: 'number', description: 'In euros' }, ['What is the rent?']],
    ['rent', { type: 'number', description: ' How much is the rent per month? ' }, ['How much is the rent per month?']],
    ['where', { type: 'string', description: 'place of birth' }, place],
    ['where', { type: ['string', 'null'], description: ' The place of birth. ' }, place],
    ['code', { type: 'string', description: 'ISBN of the book' }, ['What is the code?', 'What is the ISBN of the book?']],
    ['answer', { type: 'string' }, []],
    ['finalAnswer', { type: 'string', description: 'answer to the question' }, []],
  ] as const)
    t.same(questions(name, property), expected, name)
  const remarks = [
    'Null if it is not in the text',
    'date in ISO format',
    'must be one of these',
    'Rotterdam',
    'the place of birth, as the register of the parish has it',
    'a long description of what the field may hold and of where that is found',
    `place${' '.repeat(100_000)}of birth`,
    'of '.repeat(100_000),
  ]
  for (const description of remarks)
    t.same(questions('where', { type: 'string', description }), ['What is the where?'], description.slice(0, 40))
  t.end()
})
