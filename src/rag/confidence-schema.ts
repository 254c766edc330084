import { Type, type Static } from '#typebox'
import { SIGNALS } from './calibration/calibration.ts'
import { LIMITS } from './limits.ts'

/** Passages that an explanation drops, one at a time. */
const MAX_DROPPED = LIMITS.droppedPassages

const probability = Type.Number({ minimum: 0, maximum: 1 })

/** Request fields on confidence, withholding and explanation. */
export const ConfidenceRequestFields = {
  min_confidence: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        "Least probability_correct, or confidence where that is null, of an answer; one below it is withheld (abstained). Default: the service's setting (CEPE_MIN_CONFIDENCE), else 0.5 where probability_correct is not null. 0 withholds none, and streams the answer as it is generated.",
    }),
  ),
  attention: Type.Optional(
    Type.Enum(['sentences'], {
      description:
        'sentences: also tell the sentence of each passage that the answer attended to most (evidence[].attended). The texts are tokenised again for that.',
    }),
  ),
  explain: Type.Optional(
    Type.Enum(['drop'], {
      description: `drop: answer again without each of the ${MAX_DROPPED} passages with most attention, one at a time, and tell what changes (explanation). Reads ${2 * MAX_DROPPED + 1} prompts more. Not with sampling, replug or closed-book.`,
    }),
  ),
  logprobs: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: LIMITS.topTokens,
      description:
        "Also return the answer's tokens with their log-probabilities, and so many of the likeliest tokens in the place of each (tokens). More than 0 reads the prompt once more. Not in mode replug.",
    }),
  ),
  include_signals: Type.Optional(Type.Boolean({ description: 'Also return what a calibration weighs (signals).' })),
}

const AbstentionReasonSchema = Type.Union(
  [
    Type.Literal('no_question'),
    Type.Literal('no_passages'),
    Type.Literal('low_probability_correct'),
    Type.Literal('low_confidence'),
    Type.Null(),
  ],
  {
    description:
      'Why there is no answer: no_question, the message asks nothing (a greeting, thanks), so nothing was searched; no_passages, none were found (or supplied); low_probability_correct, low_confidence: what is named is below min_confidence. null where there is one.',
  },
)

/** Response fields on confidence. */
export const ConfidenceResponseFields = {
  abstained: Type.Boolean({ description: 'The answer is withheld: it is less likely right than min_confidence asks for.' }),
  reason: AbstentionReasonSchema,
  probability_correct: Type.Union([probability, Type.Null()], {
    description:
      "Probability that the answer is right, by the model's calibration (cepe calibrate); null where there is none, or one fitted on answers that were read in another way (with the encoder, or in the prompt alone), and for the modes closed-book and replug, and an empty answer. With sampling: of the greedy answer too, the lower of both.",
  }),
}

const DroppedSchema = Type.Object({
  id: Type.String({ description: 'The passage that was left out.' }),
  rank: Type.Integer({ minimum: 1 }),
  answer: Type.String({ description: 'The answer without it.' }),
  changed: Type.Boolean({ description: 'The answer is another one, case, accents and punctuation aside.' }),
  logprob_change: Type.Number({
    description: 'Log-probability of the first answer without the passage, less that with it: below 0 where the passage supports it.',
  }),
})

const ExplanationSchema = Type.Object({
  hangs_on: Type.Array(Type.String(), { description: 'Ids of the passages without which the answer is another one.' }),
  logprob: Type.Number({ description: 'Log-probability of the answer and the line end after it, with all passages.' }),
  dropped: Type.Array(DroppedSchema, { description: 'Most attended passage first.' }),
})

const logprob = Type.Number({ description: "Natural logarithm of the token's probability, by the model's own distribution." })
const TokenSchema = Type.Object(
  { text: Type.String(), logprob, top: Type.Array(Type.Object({ text: Type.String(), logprob }), { description: 'Likeliest first.' }) },
  { title: 'AnswerToken' },
)
export type AnswerToken = Static<typeof TokenSchema>

/** Response fields that must be requested. */
export const ExplanationResponseFields = {
  explanation: Type.Optional(
    Type.Union([ExplanationSchema, Type.Null()], {
      description: 'With explain: what hangs on which passage; null where there is no answer to explain.',
    }),
  ),
  tokens: Type.Optional(
    Type.Union([Type.Array(TokenSchema), Type.Null()], {
      description:
        'With logprobs: the tokens of the answer, whose texts joined are the answer; null where there is none, or it is withheld.',
    }),
  ),
  signals: Type.Optional(
    Type.Union([Type.Object(Object.fromEntries(SIGNALS.map((name) => [name, Type.Number()]))), Type.Null()], {
      description: 'With include_signals: what a calibration weighs; null where it is not measured.',
    }),
  ),
}

const offset = Type.Integer({ minimum: 0 })
/** Evidence field with `attention: sentences`. */
export const AttendedSchema = Type.Optional(
  Type.Union([Type.Object({ start: offset, end: offset, share: probability }), Type.Null()], {
    description:
      "With attention: sentences: the sentence of `text` with most of the passage's cross-attention, and its share of that. null where it was not measured (the 20 passages with most attention are).",
  }),
)
