import type { AnswerReadResult, RunOptions } from '../inference/contract.ts'
import { suggestQuestion } from './no-answer/about.ts'
import { type AnswerServices, type Asked, hasNoPassages, inCollection, sources, withPassages } from './pipeline.ts'
import { fittedOn } from './calibration.ts'
import { evidence, mostAttended, nearestSentence } from './evidence.ts'
import { NO_ANSWER, assessAnswer, confidenceSignals, lessSure, mayBeWithheld } from './confidence.ts'
import { type AnswerResponse, type ChatQuestion, type Evidence, LIMITS } from './schema.ts'
import { roundedMs, NO_RETRIEVAL, type RankedPassage } from './retrieve.ts'
import { withTurns } from './follow-up/standalone.ts'
import { isSmallTalk } from './no-answer/small-talk.ts'
import { at, sum } from '../../base/at.ts'
import { CodedError, unprocessable } from '../../base/errors.ts'
import { plainText } from '../text/words.ts'
import { promptForm, scoringMode } from './resolve-request.ts'

/** Receives an answer while it is generated: its passages once, then parts of its text. */
interface AnswerListener {
  passages(asked: Asked): void
  text(piece: string): void
}

/**
 * Answers a question from retrieved (or supplied) passages.
 * @throws overloaded if the request is not admitted; deadline_exceeded; invalid_request and unprocessable naming the field
 */
export async function answerQuestion(
  asking: ChatQuestion,
  given: AnswerServices,
  run: RunOptions = {},
  listener?: AnswerListener,
): Promise<AnswerResponse> {
  const started = performance.now()
  const request = withTurns(asking)
  const services = await inCollection(given, request.collection)
  const asksCorpus = request.passages === undefined && request.mode !== 'closed-book' && request.k !== 0
  const isTalk = asksCorpus && isSmallTalk(request.question)
  const reading = isTalk ? { ...request, k: 0, rerank: false } : request
  return withPassages({ request: reading }, services, run, async (asked) => {
    listener?.passages(asked)
    const calibration = fittedOn(services.calibration, promptForm(asked.resolved)) ?? null
    const policy = { calibration, minConfidence: request.min_confidence ?? services.minConfidence }
    const isJudgedFirst = mayBeWithheld(policy)
    const read = isTalk || hasNoPassages(asked) ? NOTHING_READ : await readStreaming(asked, services, isJudgedFirst ? undefined : listener)
    // Passages from the request have no file here.
    const fileOf = request.passages === undefined ? services.fileOf : undefined
    const judge = async (read: AnswerReadResult) => {
      const { contextShares: shares, text: answer, attended } = read
      const found = await evidence(asked.passages, read, { shares, answer, attended, fileOf })
      const signals = confidenceSignals(asked.resolved, read, found)
      const unread = isTalk ? { ...NO_ANSWER, reason: 'no_question' as const } : NO_ANSWER
      return { found, signals, assessed: read === NOTHING_READ ? unread : assessAnswer(read, signals, policy) }
    }
    const { found, signals, assessed } = await judge(read)
    const judged = read.greedy ? lessSure(assessed, (await judge({ ...read, ...read.greedy })).assessed) : assessed
    if (isJudgedFirst && judged.answer) listener?.text(judged.answer)
    const isAnswered = judged.answer !== null && read.text !== ''
    const explanation = request.explain && (isAnswered ? await explainByDropping(read.text, found, asked, services) : null)
    const total = performance.now() - started
    return {
      question: asked.resolved.question,
      ...judged,
      extract: isAnswered ? null : nearestSentence(asked.resolved.question, found),
      // A withheld answer is not highlighted in the passages either.
      evidence: judged.abstained ? found.map((passage) => ({ ...passage, highlights: [] })) : found,
      mode: asked.resolved.mode,
      usage: usageOf(read),
      timings_ms: roundedMs({ ...(asked.found?.timings ?? NO_RETRIEVAL), ...read.timingsMs, total }),
      ...sources(services, asked),
      ...(isTalk && { suggestion: await suggestQuestion(services.retriever.index) }),
      ...(explanation !== undefined && { explanation }),
      ...(request.include_signals && { signals }),
      ...(request.logprobs !== undefined && { tokens: judged.answer === null ? null : ((read.written ?? read).tokens ?? []) }),
      ...(asked.resolved.includePrompts && { prompts: [...read.prompts], contexts: [...read.contexts] }),
    }
  })
}

async function readStreaming(asked: Asked, { reader }: AnswerServices, listener: AnswerListener | undefined): Promise<AnswerReadResult> {
  const question = { ...asked.resolved, passages: asked.passages }
  if (!listener) return reader.answer(question, asked.run())
  let sent = ''
  const onText = (piece: string): void => {
    sent += piece
    listener.text(piece)
  }
  const read = await reader.answer(question, { ...asked.run(), onText })
  // The rest of the text, or all of it if the reader does not stream.
  const { text } = read.written ?? read
  if (text.length > sent.length && text.startsWith(sent)) listener.text(text.slice(sent.length))
  return read
}

const NOTHING_READ: AnswerReadResult = {
  text: '',
  stopped: false,
  logprobs: [],
  contextShares: [],
  contextTokenCounts: [],
  contextOf: [],
  inDecoder: [],
  promptTokens: 0,
  prompts: [],
  contexts: [],
  timingsMs: { queue: 0, plan: 0, encode: 0, generate: 0 },
}

function usageOf({ promptTokens, contextTokenCounts, logprobs, written }: AnswerReadResult): AnswerResponse['usage'] {
  return {
    prompt_tokens: promptTokens,
    context_tokens: sum(contextTokenCounts),
    generated_tokens: (written?.logprobs ?? logprobs).length,
  }
}

type Explanation = NonNullable<AnswerResponse['explanation']>

/**
 * Answers again without each of the most attended passages, one at a time, and scores the first answer there. Passages are encoded
 * separately, so states of the others come from the cache; the question's deadline and cancellation apply to all of it.
 * @throws deadline_exceeded, client_closed; unprocessable naming `explain` if prompt and answer leave no room to score
 */
async function explainByDropping(answer: string, evidence: readonly Evidence[], asked: Asked, { reader }: AnswerServices) {
  const { resolved, passages } = asked
  const { topTokens: _, ...question } = resolved
  const read = { ...question, includePrompts: false, attendedSentences: false }
  const mode = scoringMode(resolved.mode, reader.manifest)
  const score = async (others: readonly RankedPassage[]): Promise<number> => {
    const { logprobs } = await reader.choices({ ...read, mode, passages: others, choices: [answer] }, asked.run()).catch(namedAnew)
    return sum(at(logprobs, 0))
  }
  const logprob = await score(passages)
  const dropped: Explanation['dropped'] = []
  for (const { id, rank } of mostAttended(evidence).slice(0, LIMITS.droppedPassages)) {
    const others = passages.filter((_, i) => i !== rank - 1)
    const { text } = await reader.answer({ ...read, passages: others }, asked.run())
    dropped.push({
      id,
      rank,
      answer: text,
      changed: plainText(text) !== plainText(answer),
      logprob_change: (await score(others)) - logprob,
    })
  }
  return { hangs_on: dropped.filter(({ changed }) => changed).map(({ id }) => id), logprob, dropped }
}

/** Prompt and answer fill the window, without room for the scored line end. */
function namedAnew(error: unknown): never {
  if (!(error instanceof CodedError && error.code === 'unprocessable')) throw error
  const message = 'The answer fills the window, and cannot be scored: lower k_decoder or max_new_tokens, or leave explain out.'
  throw unprocessable('explain', message, error)
}
