import t from 'tap'
import { writeTypes, type Schemas } from './type-writer.ts'
import { clientTypes } from './client-types.ts'

t.test("the client's types have the names of the API's document, and are written out whole", async (t) => {
  const types = await clientTypes(t)
  t.match(types, /export interface AnswerResponse \{/)
  t.match(types, /export interface Evidence \{/)
  t.notMatch(types, /import|Static|unknown\[\]/)
})

t.test('every kind of schema has a type', async (t) => {
  const schemas: Schemas = {
    Point: {
      type: 'object',
      description: 'Where */ it is.',
      required: ['x', 'kind'],
      properties: {
        x: { type: 'number', description: 'To the right.' },
        kind: { anyOf: [{ const: 'a' }, { enum: ['b', 2] }, { type: 'null' }] },
        'not-a-name': { type: 'array', items: { anyOf: [{ $ref: '#/components/schemas/Names' }, { type: 'integer' }] } },
        more: { type: 'object', additionalProperties: { type: 'boolean' } },
        any: { description: 'Anything.' },
      },
    },
    Names: { type: 'array', items: { type: 'string' } },
    Unused: { type: 'string' },
  }
  const types = await writeTypes(schemas, ['Point'])
  t.match(types, /export type Names = string\[\]/)
  t.match(types, /\/\*\* Where \* \/ it is\. \*\/\nexport interface Point \{\n {2}\/\*\* To the right\. \*\/\n {2}x: number\n/)
  for (const line of [
    "  kind: 'a' | 'b' | 2 | null",
    "  'not-a-name'?: (Names | number)[]",
    '  more?: Record<string, boolean>',
    '  any?: unknown',
  ])
    t.ok(types.includes(`${line}\n`), line)
  t.notMatch(types, /Unused/)
  await t.rejects(writeTypes(schemas, ['Missing']), /no schema Missing/)
  await t.rejects(writeTypes({ Odd: { type: 'binary' } }, ['Odd']), /No type is known/)
})
