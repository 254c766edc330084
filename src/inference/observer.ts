/**
 * Parts of the work for a question, in their order; `parse` is getting the text out of a document, `read` a whole reading whose
 * parts are not told apart.
 */
export type Stage = 'embed' | 'search' | 'parse' | 'queue' | 'plan' | 'encode' | 'generate' | 'read'

/** Tokens of prompts, of the encoder's contexts, and of answers. */
export type TokenKind = 'prompt' | 'context' | 'generated'

/** How an answer was generated. */
export interface Generation {
  /** The reader's id. */
  readonly model: string
  readonly maxTokens: number
  /** Absent: greedy. */
  readonly temperature?: number | undefined
  readonly finishReason: 'stop' | 'length'
}

/** Observes a request's work as its parts end, for metrics and traces. */
export interface Observer {
  /** @param startedAt on the clock of performance.now() */
  stage(name: Stage, startedAt: number, ms: number): void
  tokens(kind: TokenKind, count: number): void
  generated?(generation: Generation): void
}
