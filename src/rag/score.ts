import { at } from '../../base/at.ts'
import type { RunOptions } from '../inference/contract.ts'
import { inCollection } from './collection.ts'
import { evidence } from './evidence.ts'
import { hasNoPassages, sources, withPassages, type AnswerServices } from './pipeline.ts'
import { scoringMode } from './resolve-request.ts'
import type { ScoreRequest, ScoreResponse } from './score-schema.ts'

/**
 * Log-likelihood of each choice as the answer, given the retrieved (or supplied) passages.
 * @throws overloaded if the request is not admitted; deadline_exceeded; unprocessable if prompt and choices do not fit
 */
export async function scoreChoices(
  { choices, ...request }: ScoreRequest,
  given: AnswerServices,
  run: RunOptions = {},
): Promise<ScoreResponse> {
  const services = await inCollection(given, request.collection)
  return withPassages({ request, choices }, services, run, async (asked) => {
    const { resolved, passages } = asked
    if (hasNoPassages(asked)) return { choices: [], best: null, reason: 'no_passages', evidence: [], ...sources(services, asked) }
    const { reader } = services
    const mode = scoringMode(resolved.mode, reader.manifest)
    const read = await reader.choices({ ...resolved, mode, passages, choices }, asked.run())
    return { ...ranked(choices, read.logprobs), reason: null, evidence: await evidence(passages, read), ...sources(services, asked) }
  })
}

/** @param logprobs of every token of every choice */
function ranked(choices: readonly string[], logprobs: readonly (readonly number[])[]): Pick<ScoreResponse, 'choices' | 'best'> {
  const sums = logprobs.map((tokens) => tokens.reduce((sum, logprob) => sum + logprob, 0))
  const best = sums.indexOf(Math.max(...sums))
  const weights = sums.map((sum) => Math.exp(sum - at(sums, best)))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
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
