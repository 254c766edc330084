/** Stages of a question in order. `parse` extracts the text of a document, `read` is a reading without separate stages. */
export type Stage = 'embed' | 'search' | 'parse' | 'queue' | 'plan' | 'encode' | 'generate' | 'read'

export interface Generation {
  /** The reader's id. */
  readonly model: string
  readonly maxTokens: number
  /** Absent for greedy decoding. */
  readonly temperature?: number | undefined
  readonly finishReason: 'stop' | 'length'
}

/** Receives stages of a request as they end, for metrics and traces. */
export interface Observer {
  /** @param startedAt on the clock of performance.now() */
  stage(name: Stage, startedAt: number, ms: number): void
  /** Tokens of prompts, of the encoder's contexts, and of answers. */
  tokens(kind: 'prompt' | 'context' | 'generated', count: number): void
  generated?(generation: Generation): void
}

/** Runs one stage of a request and reports its duration. */
export async function observed<Result>(observer: Observer | undefined, stage: Stage, work: () => Promise<Result>): Promise<Result> {
  const started = performance.now()
  const result = await work()
  observer?.stage(stage, started, performance.now() - started)
  return result
}
