import { Type, type Static } from '#typebox'
import { SkippedSchema } from '../../runner/skipped.ts'

const Milliseconds = Type.Number({ minimum: 0 })

/** One answer of one setting. */
const PredictionSchema = Type.Object({
  method: Type.String(),
  k: Type.Integer(),
  answer: Type.String(),
  confidence: Type.Number(),
  probability_correct: Type.Optional(
    Type.Union([Type.Number(), Type.Null()], {
      description: "By the service's calibration; null where it has none, absent in runs of before.",
    }),
  ),
  finish_reason: Type.Union([Type.Enum(['stop', 'length']), Type.Null()]),
  prompt_sha256: Type.String({ description: 'Of the rendered decoder prompts, joined by NUL.' }),
  prompt_tokens: Type.Integer(),
  context_tokens: Type.Integer(),
  generated_tokens: Type.Integer(),
  in_decoder: Type.Integer({ description: 'Passages in the decoder prompt, from the best.' }),
  in_encoder: Type.Integer(),
  attention: Type.Array(Type.Union([Type.Number(), Type.Null()]), {
    description: 'Cross-attention share by rank; null where the encoder did not see the passage.',
  }),
  timings_ms: Type.Object({ queue: Milliseconds, encode: Milliseconds, generate: Milliseconds, total: Milliseconds }),
  same_as_k: Type.Optional(
    Type.Integer({ description: "The decoder's window was full at this smaller k already: the prompt is the same, and so is the answer." }),
  ),
})
export type Prediction = Static<typeof PredictionSchema>

const RetrievalSchema = Type.Object({
  ids: Type.Array(Type.String(), { description: 'Passages, best first.' }),
  scores: Type.Array(Type.Union([Type.Number(), Type.Null()])),
  answer_ranks: Type.Array(Type.Integer(), { description: 'Ranks whose passage holds a gold answer.' }),
  gold_rank: Type.Union([Type.Integer(), Type.Null()], { description: 'Rank of the passage that the question was written about.' }),
  timings_ms: Type.Union([Type.Object({ embed: Milliseconds, retrieve: Milliseconds, total: Milliseconds }), Type.Null()], {
    description: 'null for supplied passages.',
  }),
})

const PromptSchema = Type.Object({
  method: Type.String(),
  k: Type.Integer(),
  decoder: Type.Array(Type.String()),
  encoder: Type.Array(Type.String()),
})

/** One line of predictions.jsonl: a question with all of its answers, or the reason why it was skipped. */
export const RecordSchema = Type.Object({
  id: Type.String(),
  question: Type.String(),
  answers: Type.Array(Type.String()),
  answerable: Type.Boolean(),
  groups: Type.Record(Type.String(), Type.String()),
  demonstrations: Type.Array(Type.String(), { description: 'Ids of the demonstrations.' }),
  has_gold_passage: Type.Boolean(),
  retrieval: Type.Union([RetrievalSchema, Type.Null()]),
  predictions: Type.Array(PredictionSchema),
  skipped: Type.Optional(SkippedSchema),
  prompts: Type.Optional(Type.Array(PromptSchema)),
})
export type EvalRecord = Static<typeof RecordSchema>
