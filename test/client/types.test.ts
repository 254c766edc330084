import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { root } from '../helpers/root.ts'
import { testApp } from '../http/helpers.ts'
import { writeTypes, type Schemas } from './type-writer.ts'

const FILE = path.join(root, 'src/client/types.ts')
/** What the client's methods take and give; what these refer to comes with them. */
const NAMES = [
  ...['Question', 'AnswerRequest', 'AnswerResponse', 'AnswerEvent', 'AnswerManyRequest', 'BatchItem'],
  ...['AnswerDocumentRequest', 'AnswerDocumentResponse', 'SearchRequest', 'SearchResponse', 'ScoreRequest', 'ScoreResponse'],
  ...[
    'RerankRequest',
    'RerankResponse',
    'Passage',
    'StoredPassage',
    'UpsertPassagesRequest',
    'UpsertPassagesResponse',
    'DeletePassageResponse',
  ],
  ...[
    'DeletePassagesRequest',
    'DeletePassagesResponse',
    'GetInfoResponse',
    'BrowseSourcesResponse',
    'BrowsePassagesResponse',
    'ListCollectionsResponse',
    'ErrorBody',
  ],
]

t.test("the client's types are those of the API's schemas", async (t) => {
  const { app } = await testApp(t)
  const { components } = (await app.inject('/docs/json')).json<{ components: { schemas: Schemas } }>()
  const types = await writeTypes(components.schemas, NAMES)
  if (process.argv.includes('--write')) await writeFile(FILE, types)
  t.equal(await readFile(FILE, 'utf8'), types, 'npm run client:types writes them')
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
