/** Types of the API, under the names of its OpenAPI document. The package has them written out: see `npm run build:client`. */
import type { Static } from 'typebox'
import type { ErrorBodySchema } from '../http/errors/error-body.ts'
import type { AnswerBodySchema } from '../http/routes/answer.ts'
import type { BatchItemSchema, BatchSchema } from '../http/routes/answers.ts'
import type { CollectionsSchema } from '../http/routes/collections.ts'
import type { InfoSchema } from '../http/routes/info.ts'
import type { PassagesSchema, SourcesSchema } from '../http/routes/passages/browse.ts'
import type { DeletedSchema, DeleteSchema, PassageSchema, StoredPassageSchema } from '../http/routes/passages/passages.ts'
import type { UpsertedSchema, UpsertSchema } from '../http/routes/passages/upsert.ts'
import type { RerankRequestSchema, RerankResponseSchema } from '../http/routes/rerank.ts'
import type { AnswerEventSchema } from '../rag/answer-events.ts'
import type { DocumentRequestSchema, DocumentResponseSchema } from '../rag/document-schema.ts'
import type { AnswerRequestSchema, AnswerResponseSchema, SearchRequestSchema, SearchResponseSchema } from '../rag/schema.ts'
import type { ScoreRequestSchema, ScoreResponseSchema } from '../rag/score.ts'

export type Question = Static<typeof AnswerRequestSchema>
export type AnswerRequest = Static<typeof AnswerBodySchema>
export type AnswerResponse = Static<typeof AnswerResponseSchema>
export type AnswerEvent = Static<typeof AnswerEventSchema>
export type AnswerManyRequest = Static<typeof BatchSchema>
export type BatchItem = Static<typeof BatchItemSchema>
export type AnswerDocumentRequest = Static<typeof DocumentRequestSchema>
export type AnswerDocumentResponse = Static<typeof DocumentResponseSchema>
export type SearchRequest = Static<typeof SearchRequestSchema>
export type SearchResponse = Static<typeof SearchResponseSchema>
export type ScoreRequest = Static<typeof ScoreRequestSchema>
export type ScoreResponse = Static<typeof ScoreResponseSchema>
export type RerankRequest = Static<typeof RerankRequestSchema>
export type RerankResponse = Static<typeof RerankResponseSchema>
export type Passage = Static<typeof PassageSchema>
export type StoredPassage = Static<typeof StoredPassageSchema>
export type UpsertPassagesRequest = Static<typeof UpsertSchema>
export type UpsertPassagesResponse = Static<typeof UpsertedSchema>
export type DeletePassageResponse = Static<typeof DeletedSchema>
export type DeletePassagesRequest = Static<typeof DeleteSchema>
export type DeletePassagesResponse = Static<typeof DeletedSchema>
export type GetInfoResponse = Static<typeof InfoSchema>
export type BrowseSourcesResponse = Static<typeof SourcesSchema>
export type BrowsePassagesResponse = Static<typeof PassagesSchema>
export type ListCollectionsResponse = Static<typeof CollectionsSchema>
export type ErrorBody = Static<typeof ErrorBodySchema>
