import { Type, type Static } from '#typebox'
import { LIMITS, nonBlank } from '../../rag/schema.ts'

const query = nonBlank(LIMITS.questionCharacters, 'What the documents are ordered by.')
const text = Type.String({ maxLength: LIMITS.passageCharacters })
const documents = { minItems: 1, maxItems: LIMITS.suppliedPassages } as const

const DocumentSchema = Type.Object({ text, title: Type.Optional(Type.String({ maxLength: 1000 })) })
const score = (description: string) => Type.Number({ description })

/** Fields of both formats. */
const common = {
  model: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 512,
      description: 'What orders them, the cross-encoder or else the reader, as answers name it, its short name, or cepe.',
    }),
  ),
  query,
  top_n: Type.Optional(Type.Integer({ minimum: 1, description: 'Most results. Default: all.' })),
  raw_scores: Type.Optional(
    Type.Boolean({
      description: "A cross-encoder's logits, or the reader's mean log-probabilities, in place of numbers from 0 to 1. Default: false.",
    }),
  ),
}
const ignored = { description: 'Without effect.' }

/** Request format of Cohere, Jina and Infinity. */
export const RerankRequestSchema = Type.Object(
  {
    ...common,
    documents: Type.Array(Type.Union([text, DocumentSchema]), documents),
    return_documents: Type.Optional(Type.Boolean({ description: 'Give the documents back too. Default: false.' })),
    max_tokens_per_doc: Type.Optional(
      Type.Integer({ minimum: 1, description: "Tokens that are read of each document; default: the model's own." }),
    ),
    rank_fields: Type.Optional(
      Type.Array(Type.Enum(['text', 'title']), { description: 'Fields of the documents that are read: `text` always. Default: both.' }),
    ),
    max_chunks_per_doc: Type.Optional(Type.Integer({ minimum: 1, ...ignored })),
    priority: Type.Optional(Type.Integer(ignored)),
    user: Type.Optional(Type.String(ignored)),
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
    ...common,
    texts: Type.Array(text, documents),
    return_text: Type.Optional(Type.Boolean({ description: 'Give the texts back too. Default: false.' })),
    truncate: Type.Optional(Type.Boolean({ description: 'Without effect: long texts are always cut at their end.' })),
    truncation_direction: Type.Optional(Type.String({ pattern: '^[Rr]ight$', ...ignored })),
  },
  { additionalProperties: false },
)
export type RankRequest = Static<typeof RankRequestSchema>

export const RankResponseSchema = Type.Array(
  Type.Object({
    index: Type.Integer({ description: 'Index in the request.' }),
    score: score('As relevance_score of POST /v1/rerank.'),
    text: Type.Optional(Type.String()),
  }),
  { description: 'Best first.' },
)
