import { Type, type Static } from '#typebox'
import { FilterSchema } from '../../index/filter-schema.ts'
import { CollectionNameSchema } from '../../index/table-name.ts'
import { LIMITS } from './limits.ts'
import {
  AnswerRequestSchema,
  AnswerResponseSchema,
  EvidenceSchema,
  kField,
  MethodSchema,
  nonBlank,
  ReasonSchema,
  SuppliedPassageSchema,
} from './schema.ts'

export const ScoreRequestSchema = Type.Object(
  {
    question: nonBlank(LIMITS.questionCharacters, 'The question.'),
    collection: Type.Optional(CollectionNameSchema),
    choices: Type.Array(nonBlank(1000, 'A possible answer.'), { minItems: 1, maxItems: 64 }),
    k: Type.Optional(kField),
    k_decoder: Type.Optional(Type.Integer({ minimum: 0, maximum: LIMITS.k })),
    method: Type.Optional(MethodSchema),
    filter: Type.Optional(FilterSchema),
    passages: Type.Optional(Type.Array(SuppliedPassageSchema, { maxItems: LIMITS.suppliedPassages })),
    demonstrations: AnswerRequestSchema.properties.demonstrations,
  },
  { additionalProperties: false },
)
export type ScoreRequest = Static<typeof ScoreRequestSchema>

export const ScoreResponseSchema = Type.Object({
  choices: Type.Array(
    Type.Object({
      choice: Type.String(),
      logprob: Type.Number({ description: 'Log-probability of the choice and the line end after it, given question and passages.' }),
      tokens: Type.Integer(),
      probability: Type.Number({ description: 'Softmax of the log-probabilities over the choices.' }),
    }),
  ),
  best: Type.Union([Type.Integer(), Type.Null()], { description: 'Index of the most probable choice; null where there were no passages.' }),
  reason: ReasonSchema,
  evidence: Type.Array(EvidenceSchema),
  model: AnswerResponseSchema.properties.model,
  index: AnswerResponseSchema.properties.index,
})
export type ScoreResponse = Static<typeof ScoreResponseSchema>
