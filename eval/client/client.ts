import type { AnswerRequest, AnswerResponse, SearchRequest, SearchResponse } from '../../src/rag/schema.ts'

/** The pipeline under evaluation. Both ways of reaching it give the same answers. */
export interface AnswerClient {
  /** How it is reached, for people: `in process`, or the service's address. */
  readonly name: string
  /** Whether the reader has a context encoder; undefined where only the service knows. */
  readonly hasEncoder?: boolean
  /** @throws an error as the service raises it; service_unreachable where there is no service any more */
  answer(request: AnswerRequest): Promise<AnswerResponse>
  search(request: SearchRequest): Promise<SearchResponse>
  close(): Promise<void>
}
