import type { Mode } from '../../src/text/plan.ts'
import type { AnswerRequest, AnswerResponse, SearchRequest, SearchResponse } from '../../src/rag/schema.ts'

/** The pipeline under evaluation, in-process or over HTTP, with equal answers. */
export interface AnswerClient {
  /** Name for messages: `in process`, or the service's address. */
  readonly name: string
  /** Whether the reader has a context encoder; undefined if unknown. */
  readonly hasEncoder?: boolean
  /** The reader's default mode; undefined if unknown. */
  readonly mode?: Mode
  /** @throws the service's errors; service_unreachable if it is gone */
  answer(request: AnswerRequest): Promise<AnswerResponse>
  search(request: SearchRequest): Promise<SearchResponse>
  close(): Promise<void>
}
