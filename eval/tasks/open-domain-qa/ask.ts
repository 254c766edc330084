import { at, keptOrMade } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'
import { sampleIndices, seededRandom } from '../../../base/random.ts'
import type { AnswerClient } from '../../client/client.ts'
import type { EvalPassage, EvalQuestion } from '../../datasets/question-set.ts'
import { sameQuestion } from '../../datasets/read.ts'
import { bestOver, exactMatch } from '../../metrics/answer.ts'
import { answerFinder } from '../../metrics/retrieval.ts'
import type { RunOptions } from '../../run/follow.ts'
import { runItems } from '../../run/items.ts'
import { isFailure, skippedFor } from '../../run/record.ts'
import { type EvaluationOptions, prepare } from './prepare.ts'
import { type EvalRecord, type Prediction, promptHash, QA_RUNS } from './record.ts'
import { answerRequest, largestK, type Protocol, retrievalDepth, type Setting, settingName, settingsOf } from './protocol.ts'
import type { AnswerResponse } from '../../../src/rag/schema.ts'

interface AskContext {
  readonly client: AnswerClient
  readonly protocol: Protocol
  readonly pool: readonly EvalQuestion[]
  readonly dumpPrompts: boolean
  /** Cache of demonstrations' top passages, by id of the training question. */
  readonly topPassages: Map<string, Promise<EvalPassage | undefined>>
}

/**
 * Asks one question in every setting, retrieving once. A question that fails in one setting has no predictions, so that all settings are
 * scored on the same questions.
 * @throws errors that concern more than this question (no index, an unreachable service)
 */
async function askQuestion(question: EvalQuestion, context: AskContext): Promise<EvalRecord> {
  const { client, protocol } = context
  const { id, answers, answerable, groups } = question
  const record: EvalRecord = {
    id,
    question: question.question,
    answers: [...answers],
    answerable,
    groups: { ...groups },
    has_gold_passage: question.goldPassage !== undefined,
    demonstrations: [],
    retrieval: null,
    predictions: [],
  }
  let setting: string | null = null
  try {
    const { passages, retrieval } = await passagesFor(question, client, protocol)
    record.retrieval = retrieval
    const demonstrations = await demonstrationsFor(question, context)
    record.demonstrations = demonstrations?.map(({ id }) => id) ?? []
    const examples = demonstrations?.map(({ example }) => example) ?? null
    if (passages.length < largestK(protocol))
      throw new CodedError('unprocessable', `${passages.length} passages were found, but k is ${largestK(protocol)}.`)
    const predictions: Prediction[] = []
    const prompts: NonNullable<EvalRecord['prompts']> = []
    for (const next of settingsOf(protocol)) {
      setting = settingName(next)
      const known = windowFullBefore(next, predictions)
      if (known) {
        const nothing = { timings_ms: { queue: 0, encode: 0, generate: 0, total: 0 }, attention: passages.slice(0, next.k).map(() => null) }
        predictions.push({ ...known, ...nothing, k: next.k, same_as_k: known.same_as_k ?? known.k })
        continue
      }
      const request = answerRequest(question.question, next, { passages, demonstrations: examples }, protocol)
      const response = await persistent(() => client.answer(request))
      predictions.push(toPrediction(next, response))
      prompts.push({ method: next.method, k: next.k, decoder: response.prompts ?? [], encoder: response.contexts ?? [] })
    }
    return { ...record, predictions, ...(context.dumpPrompts && { prompts }) }
  } catch (error) {
    return { ...record, skipped: skippedFor(error, setting) }
  }
}

/** Retries once if the service failed: a crashed reader is replaced. */
function persistent<T>(request: () => Promise<T>): Promise<T> {
  return request().catch((error: unknown) => {
    if (isFailure(error)) return request()
    throw error
  })
}

/** The question's passages, retrieved or its own, and the record of them. */
async function passagesFor({ question, passages, answers, goldPassage }: EvalQuestion, client: AnswerClient, protocol: Protocol) {
  const { retrieval: method } = protocol
  const found =
    method === 'supplied'
      ? { passages: passages ?? [], timings_ms: null }
      : await persistent(() => client.search({ query: question, k: retrievalDepth(protocol), method }))
  const all: readonly EvalPassage[] = found.passages
  const holdsAnswer = answerFinder(answers)
  const gold = all.findIndex(({ id }) => id === goldPassage)
  const retrieval = {
    ids: all.map(({ id }) => id),
    scores: all.map(({ score }) => score ?? null),
    answer_ranks: all.flatMap(({ text }, i) => (holdsAnswer(text) ? [i + 1] : [])),
    gold_rank: gold < 0 ? null : gold + 1,
    timings_ms: found.timings_ms,
  }
  return { passages: all, retrieval }
}

async function demonstrationsFor({ question }: EvalQuestion, { pool, protocol, client, topPassages }: AskContext) {
  const { shots, seed, retrieval: method } = protocol
  if (shots === null) return null
  const topPassage = async ({ id, question: query, passages: own }: EvalQuestion): Promise<EvalPassage | undefined> => {
    if (method === 'supplied') return own?.[0]
    const search = () => persistent(() => client.search({ query, k: 1, method })).then(({ passages }) => passages[0])
    return keptOrMade(topPassages, id, search).catch((error: unknown) => {
      topPassages.delete(id)
      throw error
    })
  }
  return Promise.all(
    chooseDemonstrations(pool, question, shots, seed).map(async (one) => {
      const found = await topPassage(one)
      const passage = found && { title: found.title, text: found.text }
      return { id: one.id, example: { question: one.question, answer: at(one.answers, 0), ...(passage && { passage }) } }
    }),
  )
}

/** The decoder-only answer at a smaller k whose window was full: more candidates do not change its prompt. */
function windowFullBefore({ method, k }: Setting, predictions: readonly Prediction[]): Prediction | undefined {
  return method === 'decoder-only'
    ? predictions.findLast((prediction) => prediction.method === method && prediction.k < k && prediction.in_decoder < prediction.k)
    : undefined
}

function toPrediction({ method, k }: Setting, response: AnswerResponse): Prediction {
  const { queue, encode, generate, total } = response.timings_ms
  const count = (...roles: string[]) => response.evidence.filter(({ role }) => roles.includes(role)).length
  return {
    method,
    k,
    // Without passages there is no answer, which scores as an empty one.
    answer: response.answer ?? '',
    confidence: response.confidence,
    probability_correct: response.probability_correct,
    finish_reason: response.finish_reason,
    prompt_sha256: promptHash(response),
    ...response.usage,
    in_decoder: count('decoder', 'both'),
    in_encoder: count('encoder', 'both'),
    attention: response.evidence.map(({ attention }) => (attention === null ? null : Math.round(attention * 1e4) / 1e4)),
    timings_ms: { queue, encode, generate, total },
  }
}

/** Samples the demonstrations of one question from the pool, never the question itself. Depends on seed and question only. */
function chooseDemonstrations(pool: readonly EvalQuestion[], question: string, shots: number, seed: number): EvalQuestion[] {
  const asked = sameQuestion(question)
  const random = seededRandom('demonstrations', seed, asked)
  // Samples more than needed, since the question itself (under several ids, in PopQA) may be among them.
  for (let drawn = shots + 1; ; drawn = Math.min(pool.length, drawn * 2)) {
    const others = sampleIndices(pool.length, drawn, random)
      .map((i) => at(pool, i))
      .filter((candidate) => sameQuestion(candidate.question) !== asked)
    if (others.length >= shots || drawn >= pool.length) return others.slice(0, shots)
  }
}

interface AskOptions extends RunOptions {
  readonly client: AnswerClient
  readonly options: EvaluationOptions
  readonly folder: string
  readonly concurrency: number
}

/**
 * Reads the data, asks every question that the folder does not contain yet, and returns all records in question order. Finished questions
 * are durable: the same call resumes.
 * @throws dataset_invalid, options_invalid, service_unreachable, nothing_scored, run_mismatch; errors that concern all questions
 */
export async function askQuestions({ client, options, onProblem, onProgress, ...run }: AskOptions): Promise<EvalRecord[]> {
  const { manifest, questions, pool } = await prepare(options, client)
  if (onProblem) manifest.data.problems.forEach(onProblem)
  const { protocol, dump_prompts: dumpPrompts } = manifest.subject
  const context: AskContext = { client, protocol, pool, dumpPrompts, topPassages: new Map() }
  const running = runningScores(protocol)
  return runItems({
    ...run,
    format: QA_RUNS,
    manifest,
    items: questions,
    what: 'questions',
    settings: settingsOf(protocol).length,
    tokensOf: ({ predictions }) =>
      predictions.reduce((sum, { prompt_tokens: read, context_tokens: encoded, generated_tokens: made }) => sum + read + encoded + made, 0),
    ask: (question) => askQuestion(question, context),
    onRecord: running.add,
    onProgress: (done, total, left) => onProgress?.(done, total, [running.line(), left].filter((part) => part !== '').join('; ')),
  })
}

/** Running exact match at each method's largest k, for the progress line. */
function runningScores(protocol: Protocol) {
  const shown = [...new Map(settingsOf(protocol).map((setting) => [setting.method, { ...setting, sum: 0 }])).values()]
  let scored = 0
  const add = ({ answerable, skipped, answers, predictions }: EvalRecord): void => {
    if (!answerable || skipped) return
    scored++
    for (const setting of shown) {
      const prediction = predictions.find(({ method, k }) => method === setting.method && k === setting.k)
      if (prediction) setting.sum += bestOver(exactMatch, prediction.answer, answers)
    }
  }
  const line = (): string =>
    scored === 0 ? '' : `EM ${shown.map((setting) => `${((100 * setting.sum) / scored).toFixed(1)} ${settingName(setting)}`).join(', ')}`
  return { add, line }
}
