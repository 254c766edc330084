import { Type, type Static } from 'typebox'
import { MODES } from '../../src/text/plan.ts'
import type { AnswerRequest, AnswerResponse, SearchRequest, SearchResponse } from '../../src/rag/schema.ts'
import { CHAT_TEMPLATES } from '../../src/text/chat-template.ts'

/** How a service answers a request that names nothing but the question. Earlier runs do not record the last five. */
export const ServiceDefaultsSchema = Type.Object({
  mode: Type.Enum([...MODES]),
  k: Type.Integer(),
  k_decoder: Type.Integer(),
  demonstrations: Type.Integer(),
  context_tokens: Type.Integer(),
  max_new_tokens: Type.Integer(),
  chat_template: Type.Optional(Type.Enum([...CHAT_TEMPLATES])),
  instruction: Type.Optional(Type.String()),
  focus: Type.Optional(Type.Literal(true)),
  weights: Type.Optional(Type.String({ description: 'Digest of weights and tokenizer.' })),
  calibration: Type.Optional(Type.String({ description: 'When it was fitted; absent without one.' })),
})
export type ServiceDefaults = Static<typeof ServiceDefaultsSchema>

/** The pipeline under evaluation, in-process or over HTTP, with equal answers. */
export interface AnswerClient {
  /** Name for messages: `in process`, or the service's address. */
  readonly name: string
  /** Whether the reader has a context encoder; undefined if unknown. */
  readonly hasEncoder?: boolean
  /** The reader's defaults. @throws the service's errors */
  defaults(): Promise<ServiceDefaults>
  /** @throws the service's errors; service_unreachable if it is gone */
  answer(request: AnswerRequest): Promise<AnswerResponse>
  search(request: SearchRequest): Promise<SearchResponse>
  close(): Promise<void>
}
