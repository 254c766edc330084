import { Type } from '#typebox'
import { PassageMetadataSchema } from '../../../index/passage-metadata.ts'
import { READ_LIMITS } from '../../../index/read/contract.ts'
import { passageOf } from '../../rag/search.ts'
import type { Tool } from '../contract.ts'
import { collectionField, heading } from './fields.ts'

const InputSchema = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: READ_LIMITS.idBytes, description: 'Id of a passage, as returned by search and answer.' }),
    collection: collectionField,
  },
  { additionalProperties: false },
)
const OutputSchema = Type.Object({
  id: Type.String(),
  title: Type.String(),
  text: Type.String(),
  source: Type.Optional(Type.String()),
  metadata: Type.Optional(PassageMetadataSchema),
})

/** Returns a stored passage. */
export const getPassageTool: Tool<typeof InputSchema, typeof OutputSchema> = {
  name: 'get_passage',
  title: 'Get a passage',
  description: 'Get a passage by id: title, whole text, source and metadata.',
  input: InputSchema,
  output: OutputSchema,
  call: ({ id }, { index }) => passageOf(index, id),
  text: (passage) =>
    [heading(passage), passage.text, ...(passage.metadata ? [`metadata: ${JSON.stringify(passage.metadata)}`] : [])].join('\n\n'),
}
