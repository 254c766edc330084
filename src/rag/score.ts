import { Type, type Static } from 'typebox'
import { at, sum } from '../../base/at.ts'
import { invalidField } from '../../base/errors.ts'
import { defaultMode } from '../../models/protocol.ts'
import type { RunOptions } from '../inference/contract.ts'
import { inCollection, hasNoPassages, sources, withPassages, type AnswerServices } from './pipeline.ts'
import { evidence } from './evidence.ts'
import { scoringMode } from './resolve-request.ts'
import { FilterSchema } from '../../index/filter-schema.ts'
import { CollectionNameSchema } from '../../index/table-name.ts'
import { LIMITS } from './limits.ts'
import {
  AnswerRequestSchema,
  AnswerResponseSchema,
  EvidenceSchema,
  kField,
  MethodSchema,
  ReasonSchema,
  SuppliedPassageSchema,
} from './schema.ts'
import { closed, nonBlank, orNull } from '../text/fields.ts'

export const ScoreRequestSchema = closed({
  question: nonBlank(LIMITS.questionCharacters, 'The question.'),
  collection: Type.Optional(CollectionNameSchema),
  choices: Type.Array(nonBlank(1000, 'A possible answer.'), { minItems: 1, maxItems: 64 }),
  k: Type.Optional(kField),
  k_decoder: Type.Optional(Type.Integer({ minimum: 0, maximum: LIMITS.k })),
  method: Type.Optional(MethodSchema),
  filter: Type.Optional(FilterSchema),
  passages: Type.Optional(Type.Array(SuppliedPassageSchema, { maxItems: LIMITS.suppliedPassages })),
  demonstrations: AnswerRequestSchema.properties.demonstrations,
})

export const ScoreResponseSchema = Type.Object({
  choices: Type.Array(
    Type.Object({
      choice: Type.String(),
      logprob: Type.Number({ description: 'Log-probability of the choice and its line end, given question and passages.' }),
      tokens: Type.Integer(),
      probability: Type.Number({ description: 'Softmax of the log-probabilities over the choices.' }),
    }),
  ),
  best: orNull(Type.Integer(), 'Index of the most probable choice; null where there were no passages.'),
  reason: ReasonSchema,
  evidence: Type.Array(EvidenceSchema),
  model: AnswerResponseSchema.properties.model,
  index: AnswerResponseSchema.properties.index,
})
type ScoreResponse = Static<typeof ScoreResponseSchema>

/**
 * Log-likelihood of each choice as the answer, given the retrieved (or supplied) passages.
 * @throws overloaded if the request is not admitted; deadline_exceeded; unprocessable if prompt and choices do not fit
 */
export async function scoreChoices(
  { choices, ...request }: Static<typeof ScoreRequestSchema>,
  given: AnswerServices,
  run: RunOptions = {},
): Promise<ScoreResponse> {
  const texts = choices.map((choice) => choice.trim().normalize())
  const again = texts.findIndex((text, i) => texts.indexOf(text) < i)
  if (again >= 0) throw invalidField(`choices.${again}`, 'is an earlier choice again, and would share its probability: name each once')
  const services = await inCollection(given, request.collection)
  const { reader } = services
  const mode = scoringMode(defaultMode(reader.manifest), reader.manifest)
  if (mode !== 'cepe' && request.k_decoder !== undefined)
    throw invalidField('k_decoder', `is not read by this model, which scores in ${mode} mode: omit it`)
  return withPassages({ request: { ...request, mode }, choices }, services, run, async (asked) => {
    const { resolved, passages } = asked
    if (hasNoPassages(asked)) return { choices: [], best: null, reason: 'no_passages', evidence: [], ...sources(services, asked) }
    const read = await reader.choices({ ...resolved, mode, passages, choices: texts }, asked.run())
    return { ...ranked(choices, read.logprobs), reason: null, evidence: await evidence(passages, read), ...sources(services, asked) }
  })
}

/** @param logprobs of every token of every choice */
function ranked(choices: readonly string[], logprobs: readonly (readonly number[])[]): Pick<ScoreResponse, 'choices' | 'best'> {
  const sums = logprobs.map((tokens) => sum(tokens))
  const best = sums.indexOf(Math.max(...sums))
  const weights = sums.map((sum) => Math.exp(sum - at(sums, best)))
  const total = sum(weights)
  return {
    choices: choices.map((choice, i) => ({
      choice,
      logprob: at(sums, i),
      tokens: at(logprobs, i).length,
      probability: at(weights, i) / total,
    })),
    best,
  }
}
