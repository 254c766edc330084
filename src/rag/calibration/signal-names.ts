/**
 * Signals of an answer that a calibration weighs. Calibration files name them: a change of the list or of a meaning makes files invalid.
 */
export const SIGNALS = [
  /** Geometric mean of the token probabilities. */
  'confidence',
  /** log(1e-4 - log-probability): of the mean, the least likely, the first token, and of the one that ends the answer. */
  'mean_doubt',
  'most_doubt',
  'first_doubt',
  'stop_doubt',
  /** Entropy of the attention over the passages, as a share of the largest possible. */
  'passage_entropy',
  /** Rank of the passage with most attention, from 0 for the first towards 1 for the last. */
  'attended_rank',
  /** Attention on the context token with most of a new token's attention, mean over the new tokens. */
  'token_peak',
  /** Entropy of the attention over context tokens, as a share of the largest possible: mean over the new tokens, and of the first one. */
  'token_entropy',
  'first_token_entropy',
  /** Of the passages that contain the answer: their attention, their share of all, and the rank of the first (1 if there is none). */
  'saying_attention',
  'saying_share',
  'saying_rank',
  /** Share of the question's words, except the title's, in the best sentence that contains the answer. */
  'sentence_overlap',
  /** Share of a title's words in the question, of the best passage that contains the answer. */
  'title_overlap',
  /** Share of the answer's words that occur in the question. */
  'echo',
  /** 1 if all passages were read in the prompt: attention over them is not measured, and its signals are 0. */
  'from_prompt',
] as const
export type Signal = (typeof SIGNALS)[number]
export type Signals = Readonly<Record<Signal, number>>
