import type { Static, TObject } from 'typebox'
import type { PassageIndex } from '../../index/passage-index.ts'
import type { RunOptions } from '../inference/contract.ts'
import type { AnswerServices } from '../rag/pipeline.ts'
import type { SourceList } from './source-list.ts'

/** What tools work with. */
export interface ToolServices {
  readonly answering: AnswerServices
  readonly index: Pick<PassageIndex, 'get'>
  readonly sources: SourceList
}

/** Why a call failed, as its caller may read it. */
export interface ToolFailure {
  /** Stable, as in the errors of the HTTP API. */
  readonly code: string
  readonly message: string
}

/** What the calls of one connection, or of one HTTP request, run with. */
export interface ToolContext {
  /** Resolves when the service is ready: a process that has just started may still be loading its models. */
  services(): Promise<ToolServices>
  /** Deadline and client of a call. */
  run(): RunOptions
  /** Logs an error, and describes it for the caller. */
  failed(error: unknown): ToolFailure
}

/** A tool: what it takes and gives, as JSON schemas, and as types. */
export interface Tool<Input extends TObject, Output extends TObject> {
  readonly name: string
  readonly title: string
  /** Read by models, which choose a tool by it. */
  readonly description: string
  readonly input: Input
  readonly output: Output
  call(input: Static<Input>, services: ToolServices, run: RunOptions): Promise<Static<Output>>
  /** The output as text: models of hosts that do not pass structured content on read this alone. */
  text(output: Static<Output>): string
}
