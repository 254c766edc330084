import { withTimeLeft, type Admission, type RunOptions } from '../inference/contract.ts'
import type { CepeManifest } from '../../models/manifest.ts'
import { LIMITS } from './schema.ts'
import type { ResolvedQuestion } from './resolve-request.ts'
import { isValue } from '../text/grammar/grammar.ts'

/** Work with its own time per token. */
type Kind = ResolvedQuestion['mode'] | 'document' | 'rerank'

export type AdmittedRun = RunOptions & { readonly kind: Kind; readonly cost: number }

/**
 * Runs a request under an admission permit, acquired before any work is done for it. The deadline starts here.
 * @param work its kind, whose rate is measured; `cost` of one reading, and `extraCost` beyond it
 * @param read receives the options for its readings: the request's own, with the remaining time
 * @throws overloaded if it is not admitted
 */
export async function withAdmission<Response>(
  admission: Admission,
  { kind, cost, extraCost = 0 }: { readonly kind: Kind; readonly cost: number; readonly extraCost?: number },
  run: RunOptions,
  read: (left: () => AdmittedRun) => Promise<Response>,
): Promise<Response> {
  const started = performance.now()
  const permit = admission.enter({ ...run, kind, cost: cost + extraCost })
  let done = false
  try {
    const response = await read(() => ({ ...withTimeLeft(run, started), kind, cost, admitted: true }))
    done = true
    return response
  } finally {
    permit.release(done)
  }
}

/** The answer's likelihood is read in addition to the answer itself. */
const READINGS_PER_DROP = 2

/**
 * Cost of a question in addition to its tokens: embedding, search, messages between processes. Without it the time of small questions, mostly
 * overhead, would be attributed to their few tokens, and large ones would seem endless.
 */
export const BASE_COST = 256

const CHARACTERS_PER_TOKEN = 4

/** Approximate tokens of a text. */
export function tokensOf(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN)
}

/**
 * Relative work of a question, in tokens that the model will read and write, before its passages are known: prompts x (tokens + new
 * tokens), and the encoder's contexts. Only ratios count: the time per token is measured.
 * @param answers texts to score
 */
export function questionCost(question: ResolvedQuestion, manifest: CepeManifest, answers: readonly string[] = []): number {
  // Alternatives, and answers that are not written as they are read, need another reading of the prompt.
  const isReadAgain = (question.topTokens ?? 0) > 0 || question.sampling !== undefined || question.grammar !== undefined
  const readings = isReadAgain ? 2 : 1
  // Each of several values is read by its questions, one at a time from the passage of the answer alone.
  const values = question.grammar?.filter(isValue) ?? []
  const asked = values.length > 1 ? values.flatMap(({ questions = [] }) => questions).length : 0
  const value = tokenCost({ ...question, ...(question.mode === 'map-rerank' && { k: 1 }) }, manifest, [])
  return BASE_COST + readings * tokenCost(question, manifest, answers) + asked * value
}

function tokenCost(question: ResolvedQuestion, { dims }: CepeManifest, answers: readonly string[]): number {
  const { mode, k, kDecoder, contextTokens, maxNewTokens } = question
  const examples = question.demonstrations.reduce(
    (sum, { question, answer, passage }) =>
      sum + tokensOf(question) + tokensOf(answer) + (passage ? Math.min(contextTokens, tokensOf(passage.text)) : 0),
    0,
  )
  const said = (question.earlier ?? []).reduce((sum, { content }) => sum + tokensOf(content), 0)
  const prompt = (passages: number): number =>
    Math.min(dims.window, tokensOf(question.question) + said + examples + passages * contextTokens + maxNewTokens)
  const scored = answers.reduce((sum, answer) => sum + 1 + tokensOf(answer), 0)
  if (mode === 'closed-book') return prompt(0) + scored
  if (mode === 'decoder-only') return prompt(k) + scored
  if (mode === 'cepe') return prompt(Math.min(k, kDecoder)) + k * contextTokens + scored
  // One reading for each passage. The two parts of it that are read, too, are together about as long as it.
  return Math.max(1, k) * (prompt(1) + (question.focus ? 2 * prompt(0) + contextTokens : 0))
}

/** Relative work of answering and scoring again without each of the best passages: prompts only, since states are cached. */
export function explanationCost(question: ResolvedQuestion, manifest: CepeManifest): number {
  const { mode, k, kDecoder } = question
  const read = mode === 'decoder-only' ? k : Math.min(k, kDecoder)
  const prompt = tokenCost({ ...question, mode: 'decoder-only', k: read }, manifest, [])
  return prompt * (1 + READINGS_PER_DROP * Math.min(k, LIMITS.droppedPassages))
}
