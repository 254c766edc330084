import { Type, type Static } from 'typebox'
import { orNull } from '../text/fields.ts'
import { Compile } from 'typebox/compile'
import { at } from '../../base/at.ts'
import { invalidConfig, messageOf, reasonOf } from '../../base/errors.ts'
import { QaDefaultsSchema } from '../../models/manifest.ts'
import { orAbsent, readRegular } from '../../base/exists.ts'
import { isIntact, parseJson } from '../../base/json.ts'
import type { Log } from '../inference/log.ts'
import { CHAT_TEMPLATES } from '../text/chat-template.ts'
import { MODES } from '../text/plan.ts'

/** Signals of an answer that a calibration weighs. Its files name them: a change of the list or of a meaning makes files invalid. */
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
export type Signals = Readonly<Record<(typeof SIGNALS)[number], number>>

/** Increased when calibrations of an earlier version can no longer be used. */
export const CALIBRATION_VERSION = 1

const number = Type.Number()
const QualitySchema = Type.Object({
  log_loss: number,
  ece: Type.Number({ description: 'Expected calibration error, ten bins of equal width.' }),
  auroc: Type.Number({ description: 'Chance that a right answer ranks above a wrong one.' }),
})
export type Quality = Static<typeof QualitySchema>

/** What shapes the prompts of a question, apart from its passages. */
const PromptSchema = Type.Object({
  chat_template: Type.Enum([...CHAT_TEMPLATES]),
  instruction: Type.String({ description: 'Text after the question; empty: none.' }),
  mode: Type.Enum([...MODES]),
  demonstrations: Type.Integer({ minimum: 0 }),
  focus: QaDefaultsSchema.properties.focus,
})
export type PromptForm = Static<typeof PromptSchema>

/** How a request is answered that names nothing but the question. */
export const ReaderDefaultsSchema = Type.Object(
  { ...QaDefaultsSchema.properties, ...PromptSchema.properties },
  { description: 'Defaults for fields that a request omits, by the protocol of the model and the settings.' },
)

const CalibrationSchema = Type.Object({
  version: Type.Literal(CALIBRATION_VERSION),
  fitted_at: Type.String(),
  reader: Type.String({ description: 'Id of the model whose answers were judged: another one is not judged by it.' }),
  weights: Type.Optional(Type.String({ description: 'Digest of its weights and tokenizer: builds that share it are judged, too.' })),
  prompt: PromptSchema,
  retriever: orNull(Type.String()),
  index: Type.Object({ table: Type.String(), version: Type.Integer(), passages: Type.Integer() }),
  asked: Type.Object({
    files: Type.Array(Type.Object({ name: Type.String(), sha256: Type.String() })),
    k: Type.Array(orNull(Type.Integer()), { description: "null: the model's own." }),
    answers: Type.Integer({ description: 'Answers that were judged.' }),
    right: Type.Integer(),
    unanswerable: Type.Integer({ description: 'Answers to questions that the corpus does not answer.' }),
    unanswerable_share: orNull(Type.Number(), 'Share of such questions that probabilities are meant for; null: as in the files.'),
  }),
  l2: Type.Number({ description: 'Penalty on squared weights, chosen by cross-validation.' }),
  bias: number,
  signals: Type.Array(Type.Object({ name: Type.String(), mean: number, scale: Type.Number({ exclusiveMinimum: 0 }), weight: number })),
  cross_validated: Type.Object({ probability: QualitySchema, confidence: QualitySchema }),
  sha256: Type.Optional(Type.String({ description: 'Digest of the other values; absent in early calibrations.' })),
})
/** A logistic regression from signals to the probability that the answer is right, and what it was fitted on. */
export type Calibration = Static<typeof CalibrationSchema>

const validator = Compile(CalibrationSchema)

/** Reads a file of `cepe calibrate`. @returns undefined if there is none @throws config_invalid naming the file and its problem */
async function loadCalibration(file: string): Promise<Calibration | undefined> {
  const invalid = (problem: string, cause?: unknown) =>
    invalidConfig('CEPE_CALIBRATION', `Calibration ${file} ${problem}: create it again (cepe calibrate).`, cause)
  const content = await orAbsent(readRegular(file)).catch((error: unknown) => {
    throw invalid(`cannot be read (${reasonOf(error)})`, error)
  })
  if (content === undefined) return undefined
  const value = parseJson(content.toString())
  if (!validator.Check(value)) {
    const [problem] = validator.Errors(value)
    throw invalid(
      value === undefined ? 'is not valid JSON' : `is not what this version reads (${problem?.instancePath} ${problem?.message})`,
    )
  }
  if (!isIntact(value)) throw invalid('is damaged: its values are not those of its SHA-256')
  if (value.signals.map(({ name }) => name).join() !== SIGNALS.join()) throw invalid('weighs other signals than this version measures')
  return value
}

/** Minimum share of its answers for a calibration to cover a way of reading. */
const FEW = 0.01

/** Whether it was fitted on answers read that way: in the prompt alone, or with the encoder. */
function covers({ signals }: Calibration, { from_prompt: fromPrompt }: Signals): boolean {
  const { mean } = at(signals, SIGNALS.indexOf('from_prompt'))
  return fromPrompt === 1 ? mean > FEW : mean < 1 - FEW
}

/** The probability that an answer with these signals is right; null if the calibration does not cover its way of reading. */
export function probabilityCorrect(calibration: Calibration, values: Signals): number | null {
  if (!covers(calibration, values)) return null
  const { bias, signals } = calibration
  const weighed = signals.map(({ name, mean, scale, weight }) => (weight * (values[name as keyof Signals] - mean)) / scale)
  const score = weighed.reduce((sum, value) => sum + value, bias)
  return 1 / (1 + Math.exp(-score))
}

interface CalibrationFiles {
  /** From the setting; '' for none. */
  readonly named?: string
  /** Of the live table; absent if its index has no folder. */
  readonly own?: string
  /** Of the shipped model and corpus. */
  readonly shipped: string
}

/** Whose answers are judged: id and weights of the loaded model, and the prompts that it reads by default. */
type Judged = Pick<Calibration, 'reader' | 'weights'> & Partial<PromptForm>

/**
 * Chooses the calibration for a reader's answers: the configured one, else the table's own, else the shipped one. A calibration of another
 * reader or another form of prompts is ignored, with a warning unless it is the shipped one and of another checkpoint; so is an unusable
 * file of the table.
 * @throws config_invalid if the configured file is missing or invalid
 */
export async function chooseCalibration(
  { named, own, shipped }: CalibrationFiles,
  judged: Judged,
  log?: Log,
): Promise<Calibration | undefined> {
  if (named === '') return undefined
  if (named !== undefined) {
    const calibration = await loadCalibration(named)
    if (calibration === undefined)
      throw invalidConfig('CEPE_CALIBRATION', `There is no calibration at ${named}: create it (cepe calibrate), or unset CEPE_CALIBRATION.`)
    return fittedOn(calibration, judged, named, log)
  }
  const found = own === undefined ? undefined : fittedOn(await usable(own, log), judged, own, log)
  if (found !== undefined) return found
  const other = await usable(shipped, log)
  const sameCheckpoint = other !== undefined && judged.reader.startsWith(other.reader.replace(/(?<=@.{12}).*/, ''))
  return fittedOn(other, judged, 'that is shipped', sameCheckpoint ? log : undefined)
}

function usable(file: string, log?: Log): Promise<Calibration | undefined> {
  return loadCalibration(file).catch((error: unknown) => {
    log?.('warn', `This calibration is not used: ${messageOf(error)}`)
    return undefined
  })
}

/** The calibration if it was fitted on answers of this kind; undefined, with a warning, if not. */
export function fittedOn(calibration: Calibration | undefined, judged: Partial<Judged>, file = '', log?: Log): Calibration | undefined {
  if (calibration === undefined) return undefined
  const fitted: Judged = { ...calibration.prompt, reader: calibration.reader }
  const { weights, ...read } = judged
  const isSameReader = weights !== undefined && weights === calibration.weights
  const names = [...(Object.keys(read) as (keyof typeof read)[]), 'focus' as const]
  const other = names.find((name) => fitted[name] !== read[name] && !(name === 'reader' && isSameReader))
  if (other === undefined) return calibration
  const named = (value: unknown) => (other === 'reader' ? String(value) : `${other} ${JSON.stringify(value)}`)
  log?.(
    'warn',
    `The calibration ${file} is of ${named(fitted[other])}, not of ${named(read[other])}, and is not used: create it again (cepe calibrate).`,
  )
  return undefined
}
