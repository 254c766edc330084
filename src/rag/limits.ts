/** Limits of one request, used in the schemas and so documented in the API. */
export const LIMITS = {
  questionCharacters: 4096,
  instructionCharacters: 2000,
  k: 200,
  suppliedPassages: 200,
  passageCharacters: 20_000,
  demonstrations: 16,
  /** Earlier questions of a conversation. */
  earlier: 20,
  newTokens: 256,
  stops: 4,
  stopCharacters: 100,
  topTokens: 20,
  contextTokens: 512,
  /** Size of a supplied retrieval score. */
  score: 1e6,
  /** Lower temperatures are practically greedy. */
  leastTemperature: 0.001,
  /** Passages dropped to explain an answer. */
  droppedPassages: 5,
} as const

export const METHODS = ['dense', 'text', 'hybrid'] as const

/** Limits of a request about a document; its size is the service's setting. */
export const DOCUMENT_REQUEST_LIMITS = { newTokens: 1024, evidence: 200, titleCharacters: 1000 } as const
