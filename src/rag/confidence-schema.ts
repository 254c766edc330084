import { Type } from 'typebox'
import { SIGNALS } from './calibration.ts'
import { LIMITS } from './limits.ts'
import { optionalBoolean, optionalEnum, optionalInteger, optionalNumber, optionalOrNull, orNull } from '../text/fields.ts'

const probability = Type.Number({ minimum: 0, maximum: 1 })

export const ConfidenceRequestFields = {
  min_confidence: optionalNumber(
    [0, 1],
    'Minimum probability_correct (confidence if null); answers below it are withheld. Default: CEPE_MIN_CONFIDENCE, else 0.5 with a calibration. 0 also streams while generating.',
  ),
  attention: optionalEnum(['sentences'], 'sentences: also return the sentence of each passage with most attention (evidence[].attended).'),
  explain: optionalEnum(
    ['drop'],
    `drop: answer again without each of the ${LIMITS.droppedPassages} passages with most attention, and return the differences. Reads ${2 * LIMITS.droppedPassages + 1} more prompts. In the modes cepe and decoder-only, without sampling.`,
  ),
  logprobs: optionalInteger(
    [0, LIMITS.topTokens],
    "Also return the answer's tokens with log-probabilities and this many alternatives for each. Values above 0 read the prompt again. Not in the modes experts and replug.",
  ),
  include_signals: optionalBoolean('Also return the inputs of the calibration (signals).'),
}

export const ConfidenceResponseFields = {
  abstained: Type.Boolean({ description: 'True if the answer was withheld because it is below min_confidence.' }),
  reason: orNull(
    Type.Enum(['no_question', 'no_passages', 'no_answer', 'low_probability_correct', 'low_confidence']),
    'Why there is no answer. no_question: greeting or thanks. no_passages: none found. no_answer: the reader found none. low_probability_correct, low_confidence: below min_confidence. null with an answer.',
  ),
  probability_correct: orNull(
    probability,
    'Calibrated probability that the answer is right; null without a calibration for this mode, chat template and instruction, and for an empty answer. With sampling: at most that of the greedy answer.',
  ),
}

const DroppedSchema = Type.Object({
  id: Type.String({ description: 'Id of the passage that was removed.' }),
  rank: Type.Integer({ minimum: 1 }),
  answer: Type.String({ description: 'Answer without that passage.' }),
  changed: Type.Boolean({ description: 'True if the answer differs, ignoring case, accents and punctuation.' }),
  logprob_change: Type.Number({
    description: "Change in the original answer's log-probability; negative if the passage supports the answer.",
  }),
})

const ExplanationSchema = Type.Object({
  hangs_on: Type.Array(Type.String(), { description: 'Ids of the passages whose removal changes the answer.' }),
  logprob: Type.Number({ description: 'Log-probability of the answer and its line end, with all passages.' }),
  dropped: Type.Array(DroppedSchema, { description: 'Most attended passage first.' }),
})

const logprob = Type.Number({ description: "Natural logarithm of the token's probability under the model." })
const TokenSchema = Type.Object(
  { text: Type.String(), logprob, top: Type.Array(Type.Object({ text: Type.String(), logprob }), { description: 'Most probable first.' }) },
  { title: 'AnswerToken' },
)

/** Response fields that must be requested. */
export const ExplanationResponseFields = {
  explanation: optionalOrNull(ExplanationSchema, 'With explain: how the answer changes without single passages; null without an answer.'),
  tokens: optionalOrNull(
    Type.Array(TokenSchema),
    'With logprobs: the tokens of the answer; their concatenated texts are the answer. null without an answer.',
  ),
  signals: optionalOrNull(
    Type.Object(Object.fromEntries(SIGNALS.map((name) => [name, Type.Number()]))),
    'With include_signals: the inputs of the calibration; null if not measured.',
  ),
}

const offset = Type.Integer({ minimum: 0 })
/** Evidence field with `attention: sentences`. */
export const AttendedSchema = optionalOrNull(
  Type.Object({ start: offset, end: offset, share: probability }),
  'With attention: sentences: the sentence of `text` with most cross-attention and its share; null beyond the 20 passages with most attention.',
)
