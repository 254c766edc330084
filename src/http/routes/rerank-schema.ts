import { Type, type Static } from '#typebox'
import { LIMITS, nonBlank } from '../../rag/schema.ts'

const query = nonBlank(LIMITS.questionCharacters, 'What the documents are ordered by.')
const text = Type.String({ maxLength: LIMITS.passageCharacters })
const documents = { minItems: 1, maxItems: LIMITS.suppliedPassages } as const

const DocumentSchema = Type.Object({ text, title: Type.Optional(Type.String({ maxLength: 1000 })) })
const score = (description: string) => Type.Number({ description })

/** Request format of Cohere and Jina. */
export const RerankRequestSchema = Type.Object(
  {
    model: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 512,
        description: 'What orders them, the cross-encoder or else the reader, as answers name it, or its short name.',
      }),
    ),
    query,
    documents: Type.Array(Type.Union([text, DocumentSchema]), documents),
    top_n: Type.Optional(Type.Integer({ minimum: 1, description: 'Most results. Default: all.' })),
    return_documents: Type.Optional(Type.Boolean({ description: 'Give the documents back too. Default: false.' })),
    max_tokens_per_doc: Type.Optional(
      Type.Integer({ minimum: 1, description: "Tokens that are read of each document; default: the model's own." }),
    ),
  },
  { additionalProperties: false },
)
export type RerankRequest = Static<typeof RerankRequestSchema>

export const RerankResponseSchema = Type.Object({
  id: Type.String(),
  model: Type.String(),
  results: Type.Array(
    Type.Object({
      index: Type.Integer({ description: 'Index in the request.' }),
      relevance_score: score(
        "0 to 1, not calibrated: a cross-encoder's logit through the sigmoid; of a reader the geometric mean of the probabilities of the query's tokens after the document, which orders the documents of one request alone.",
      ),
      document: Type.Optional(DocumentSchema),
    }),
    { description: 'Best first.' },
  ),
  usage: Type.Object({ total_tokens: Type.Integer() }),
})

/** Request format of text-embeddings-inference. */
export const RankRequestSchema = Type.Object(
  {
    query,
    texts: Type.Array(text, documents),
    raw_scores: Type.Optional(
      Type.Boolean({
        description: "A cross-encoder's logits, or the reader's mean log-probabilities, in place of numbers from 0 to 1. Default: false.",
      }),
    ),
    return_text: Type.Optional(Type.Boolean({ description: 'Give the texts back too. Default: false.' })),
    truncate: Type.Optional(Type.Boolean({ description: 'Without effect: long texts are always cut at their end.' })),
    truncation_direction: Type.Optional(Type.Enum(['right', 'Right'])),
  },
  { additionalProperties: false },
)

export const RankResponseSchema = Type.Array(
  Type.Object({
    index: Type.Integer({ description: 'Index in the request.' }),
    score: score('As relevance_score of POST /v1/rerank.'),
    text: Type.Optional(Type.String()),
  }),
  { description: 'Best first.' },
)
