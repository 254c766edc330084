/** Limits of one request; each is also the schema's, so that the API's documentation shows it. */
export const LIMITS = {
  questionCharacters: 4096,
  k: 200,
  suppliedPassages: 200,
  passageCharacters: 20_000,
  demonstrations: 16,
  newTokens: 256,
  stops: 4,
  stopCharacters: 100,
  /** Likeliest tokens in the place of one. */
  topTokens: 20,
  contextTokens: 512,
  /** Size of a supplied retrieval score. */
  score: 1e6,
  /** Colder sampling, and sharper weights of passages, are greedy in all but name. */
  leastTemperature: 0.001,
  /** Passages that are left out to explain an answer. */
  droppedPassages: 5,
} as const

/** How passages are searched. */
export const METHODS = ['dense', 'text', 'hybrid'] as const

/** Limits of a request about a document; its size is the service's setting. */
export const DOCUMENT_REQUEST_LIMITS = { newTokens: 1024, evidence: 200, titleCharacters: 1000 } as const
