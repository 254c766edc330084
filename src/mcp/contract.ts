import type { Static, TObject } from 'typebox'
import type { CollectionPage, PageRange } from '../../index/collections/contract.ts'
import type { PassageIndex } from '../../index/passage-index.ts'
import { checked } from '../http/errors/describe-validation.ts'
import { cancelledBy, type RunOptions } from '../inference/contract.ts'
import type { AnswerServices } from '../rag/pipeline.ts'

/** Services of one collection for tools. */
interface ToolServices {
  readonly answering: AnswerServices
  readonly index: PassageIndex
  /** Lists the collections that the caller may use. */
  readonly collections: (range: PageRange) => Promise<CollectionPage>
}

/** Context of the calls of one connection or HTTP request. */
export interface ToolContext {
  /**
   * Resolves when the service is ready: a process that has just started may still be loading its models.
   * @param collection default: the main collection
   * @throws unknown_collection
   */
  services(collection?: string): Promise<ToolServices>
  /** Deadline and client of a call. */
  readonly run: RunOptions
  /** Logs an error and describes it for the caller, with its code in the HTTP API. */
  failed(error: unknown): { readonly code: string; readonly message: string }
}

/** A tool with typed input and output. */
interface Definition<Input extends TObject, Output extends TObject> {
  readonly name: string
  readonly title: string
  /** Models choose a tool by its description. */
  readonly description: string
  readonly input: Input
  readonly output: Output
  readonly call: (input: Static<Input>, services: ToolServices, run: RunOptions) => Promise<Static<Output>>
  /** Renders the output as text, for hosts that do not forward structured content to the model. */
  readonly text: (output: Static<Output>) => string
}

/** Defines a tool, whose input is validated: the SDK's validation would put its own text in front of the error's code. */
export function tool<Input extends TObject, Output extends TObject>({ call, text, ...shown }: Definition<Input, Output>) {
  const inputOf = checked(shown.input, 'value')
  return {
    ...shown,
    /** Calls the tool. An error is returned as its result, with the code of the HTTP API, so that the model can act on it. */
    call: async (given: unknown, context: ToolContext, signal: AbortSignal) => {
      try {
        const input = inputOf(given)
        const collection = 'collection' in input && typeof input.collection === 'string' ? input.collection : undefined
        const output = await call(input, await context.services(collection), cancelledBy(signal, context.run))
        return { content: [{ type: 'text' as const, text: text(output) }], structuredContent: { ...output } }
      } catch (error) {
        const { code, message } = context.failed(error)
        return { content: [{ type: 'text' as const, text: `${code}: ${message}` }], isError: true }
      }
    },
  }
}
