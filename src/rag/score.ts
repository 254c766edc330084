import { at } from '../../base/at.ts'
import type { RunOptions } from '../inference/contract.ts'
import { evidence } from './evidence.ts'
import { hasNoPassages, sources, withPassages, type AnswerServices } from './pipeline.ts'
import type { ScoreRequest, ScoreResponse } from './schema.ts'

/**
 * Log-likelihood of each choice as the answer, given the retrieved (or supplied) passages.
 * @throws overloaded if the request is not admitted; deadline_exceeded; unprocessable where prompt and choices do not fit
 */
export function scoreChoices(
  { choices, ...request }: ScoreRequest,
  services: AnswerServices,
  run: RunOptions = {},
): Promise<ScoreResponse> {
  return withPassages({ request, choices }, services, run, async (asked) => {
    const { resolved, passages } = asked
    if (hasNoPassages(asked)) return { choices: [], best: null, reason: 'no_passages', evidence: [], ...sources(services, asked) }
    const read = await services.reader.choices({ ...resolved, passages, choices }, asked.run())
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
