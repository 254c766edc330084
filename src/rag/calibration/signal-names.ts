/**
 * What reader and retriever know of an answer, as numbers that a calibration weighs. Calibrations on the disk name them:
 * another list, or another meaning, makes those invalid.
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
  /** Rank of the passage with most attention, 0 for the first, towards 1 for the last. */
  'attended_rank',
  /** Attention on the context token that a new token attended to most, mean over the new tokens. */
  'token_peak',
  /** Entropy of the attention over context tokens, as a share of the largest possible: mean over the new tokens, and the first one's. */
  'token_entropy',
  'first_token_entropy',
  /** Of the passages that say the answer: their attention, their share of all, and the rank of the first (1 where there is none). */
  'saying_attention',
  'saying_share',
  'saying_rank',
  /** Share of the question's words that a sentence which says the answer has too, the passage's title aside; the best sentence's. */
  'sentence_overlap',
  /** Share of a title's words that the question has, where the passage says the answer; the best passage's. */
  'title_overlap',
  /** Share of the answer's words that the question says already. */
  'echo',
  /** 1 where all passages were read in the prompt: attention over them is not measured, and what is said of it above is 0. */
  'from_prompt',
] as const
export type Signal = (typeof SIGNALS)[number]
export type Signals = Readonly<Record<Signal, number>>
