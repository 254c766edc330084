import type { Static, TObject } from '#typebox'
import type { CollectionPage, PageRange } from '../../index/collections/contract.ts'
import type { PassageIndex } from '../../index/passage-index.ts'
import type { RunOptions } from '../inference/contract.ts'
import type { AnswerServices } from '../rag/pipeline.ts'

/** Services of one collection for tools. */
export interface ToolServices {
  readonly answering: AnswerServices
  readonly index: Pick<PassageIndex, 'get'>
  readonly sources: PassageIndex['sources']
  /** Lists the collections that the caller may use. */
  readonly collections: (range: PageRange) => Promise<CollectionPage>
}

/** Error of a call, as shown to the caller. */
export interface ToolFailure {
  /** Stable error code of the HTTP API. */
  readonly code: string
  readonly message: string
}

/** Context of the calls of one connection or HTTP request. */
export interface ToolContext {
  /**
   * Resolves when the service is ready: a process that has just started may still be loading its models.
   * @param collection default: the main collection
   * @throws unknown_collection
   */
  services(collection?: string): Promise<ToolServices>
  /** Returns the deadline and client of a call. */
  run(): RunOptions
  /** Logs an error and describes it for the caller. */
  failed(error: unknown): ToolFailure
}

/** A tool with typed input and output. */
export interface Tool<Input extends TObject, Output extends TObject> {
  readonly name: string
  readonly title: string
  /** Models choose a tool by its description. */
  readonly description: string
  readonly input: Input
  readonly output: Output
  call(input: Static<Input>, services: ToolServices, run: RunOptions): Promise<Static<Output>>
  /** Renders the output as text, for hosts that do not forward structured content to the model. */
  text(output: Static<Output>): string
}
