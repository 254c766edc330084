import { at } from '../../base/at.ts'
import { modelId } from '../../models/manifest.ts'
import { CodedError } from '../../base/errors.ts'
import type { RunOptions } from '../inference/contract.ts'
import { evidence, gatherPassages, planRead, readOptions, type AnswerServices } from './answer.ts'
import type { ScoreRequest, ScoreResponse } from './schema.ts'

/** Log-likelihood of each choice as the answer, given the retrieved (or supplied) passages. */
export async function scoreChoices(
  { choices, ...request }: ScoreRequest,
  services: AnswerServices,
  run: RunOptions = {},
): Promise<ScoreResponse> {
  const options = readOptions(request, services)
  const { passages, found } = await gatherPassages(request, options.mode, services, run)
  const plan = planRead(passages, options, services)
  const [prompt] = plan.prompts
  if (prompt === undefined) throw new CodedError('internal', 'No prompt was planned. This is a bug.')
  const continuations = choices.map((choice) => continuationIds(prompt.text, choice.trim(), prompt.ids.length, services))
  const window = services.reader.manifest.dims.window
  const longest = Math.max(...continuations.map((ids) => ids.length))
  if (prompt.ids.length + longest > window) {
    throw new CodedError(
      'unprocessable',
      `The prompt (${prompt.ids.length} tokens) and the longest choice (${longest}) exceed the model's window of ${window}: shorten the choices.`,
      { field: 'choices' },
    )
  }
  const logprobs = await services.reader.score(
    {
      promptIds: prompt.ids,
      contexts: plan.contexts,
      ...(plan.contextIds && { contextIds: plan.contextIds }),
      contextTokens: options.contextTokens,
      continuations,
    },
    run,
  )
  const sums = logprobs.map((tokens) => tokens.reduce((sum, logprob) => sum + logprob, 0))
  const best = sums.indexOf(Math.max(...sums))
  const weights = sums.map((sum) => Math.exp(sum - at(sums, best)))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return {
    choices: choices.map((choice, i) => ({
      choice,
      logprob: at(sums, i),
      tokens: logprobs[i]?.length ?? 0,
      probability: at(weights, i) / total,
    })),
    best,
    evidence: evidence(passages, plan),
    model: { reader: modelId(services.reader.manifest), retriever: found?.model ?? null },
    index: found?.index ?? null,
  }
}

/** Ids of " {choice}\n" as they stand after the prompt: tokenised with it, since a tokenizer may treat a text's beginning differently. */
function continuationIds(prompt: string, choice: string, promptTokens: number, { tokenizer }: AnswerServices): number[] {
  const bos = tokenizer.bosId === null ? 0 : 1
  const ids = tokenizer.encode(`${prompt} ${choice}\n`).slice(promptTokens - bos)
  if (ids.length === 0) throw new CodedError('unprocessable', `The choice ${JSON.stringify(choice)} has no tokens.`, { field: 'choices' })
  return ids
}
