import { Type, type Static } from 'typebox'
import { ReaderDefaultsSchema } from '../../src/rag/calibration.ts'
import type { AnswerRequest, AnswerResponse, SearchRequest, SearchResponse } from '../../src/rag/schema.ts'

const { properties: defaults } = ReaderDefaultsSchema

/** How a service answers a request that names nothing but the question. Earlier runs do not record the last five. */
export const ServiceDefaultsSchema = Type.Object({
  ...defaults,
  chat_template: Type.Optional(defaults.chat_template),
  instruction: Type.Optional(defaults.instruction),
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
