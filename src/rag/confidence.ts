import type { AnswerReadResult } from '../inference/contract.ts'
import { probabilityCorrect, type Calibration, type Signals } from './calibration.ts'
import { sureness } from '../inference/confidence.ts'
import type { AnswerResponse, Evidence } from './schema.ts'
import type { ResolvedQuestion } from './resolve-request.ts'
import { at, mean } from '../../base/at.ts'
import type { Mode } from '../text/plan.ts'
import { contentStems, plainWords, stemsOf } from '../text/words.ts'

type AnswerConfidence = Pick<AnswerResponse, 'answer' | 'abstained' | 'reason' | 'confidence' | 'probability_correct' | 'finish_reason'>

interface ConfidencePolicy {
  /** Null if there is none for the reader. */
  readonly calibration: Calibration | null
  /** Minimum probability (confidence if there is no probability) of an answer; undefined: LEAST_PROBABILITY, with a calibration. */
  readonly minConfidence: number | undefined
}

/** With a calibration, an answer that is more likely wrong than right is withheld by default. */
export const LEAST_PROBABILITY = 0.5

/** True if an answer may be withheld after its assessment: it is not streamed before. */
export function mayBeWithheld({ calibration, minConfidence }: ConfidencePolicy): boolean {
  return minConfidence === undefined ? calibration !== null : minConfidence > 0
}

/** Returns the confidence of an answer in words, its probability of being right, and whether it is withheld as written. */
export function assessAnswer(
  read: AnswerReadResult,
  signals: Signals | null,
  { calibration, minConfidence }: ConfidencePolicy,
): AnswerConfidence {
  const { written = read } = read
  const sure = sureness(read)
  const probability = calibration && signals ? probabilityCorrect(calibration, signals) : null
  const abstained = minConfidence === undefined ? (probability ?? 1) < LEAST_PROBABILITY : (probability ?? sure) < minConfidence
  return {
    answer: abstained ? null : written.text,
    abstained,
    reason: abstained ? (probability === null ? 'low_confidence' : 'low_probability_correct') : read.text === '' ? 'no_answer' : null,
    confidence: sure,
    probability_correct: probability,
    finish_reason: written.stopped ? 'stop' : 'length',
  }
}

/** An answer, as sure as it and the greedy one at most: what is withheld without a temperature is withheld with one. */
export function lessSure(own: AnswerConfidence, greedy: AnswerConfidence): AnswerConfidence {
  const { abstained, reason } = own.abstained || !greedy.abstained ? own : greedy
  const probabilities = [own, greedy].flatMap(({ probability_correct: probability }) => probability ?? [])
  return {
    ...own,
    answer: abstained ? null : own.answer,
    abstained,
    reason,
    confidence: Math.min(own.confidence, greedy.confidence),
    probability_correct: probabilities.length === 0 ? null : Math.min(...probabilities),
  }
}

/** Confidence without a run of the model. */
export const NO_ANSWER: AnswerConfidence = {
  answer: null,
  abstained: false,
  reason: 'no_passages',
  confidence: 0,
  probability_correct: null,
  finish_reason: null,
}

/** Bounds the logarithm for a probability of 1. */
const LEAST_DOUBT = 1e-4
/** Sentences compared with the question, from the best passage on, and characters of each. */
const MOST_SENTENCES = 20
const SENTENCE_CHARACTERS = 1000
/** Modes whose answers are of several distributions, or from no passages. */
const UNCOVERED: readonly Mode[] = ['experts', 'replug', 'closed-book']

/** Signals of a greedy answer for a calibration; null for an empty answer, without passages, and in a mode that none covers. */
export function confidenceSignals(
  { question, mode }: Pick<ResolvedQuestion, 'question' | 'mode'>,
  read: AnswerReadResult,
  evidence: readonly Evidence[],
): Signals | null {
  const { text, stopped, logprobs } = read
  if (UNCOVERED.includes(mode) || text === '' || logprobs.length === 0 || evidence.length === 0) return null
  const citing = evidence.filter(({ highlights }) => highlights.length > 0)
  const least = Math.min(...logprobs)
  const { from_prompt: fromPrompt, ...attended } = attentionSignals(read, evidence)
  return {
    confidence: sureness(read),
    mean_doubt: doubt(mean(logprobs)),
    most_doubt: doubt(least),
    first_doubt: doubt(at(logprobs, 0)),
    stop_doubt: doubt(stopped ? at(logprobs, logprobs.length - 1) : least),
    ...attended,
    saying_attention: citing.reduce((sum, { attention }) => sum + (attention ?? 0), 0),
    saying_share: citing.length / evidence.length,
    saying_rank: citing.length === 0 ? 1 : (at(citing, 0).rank - 1) / evidence.length,
    ...overlaps(question, text, citing),
    from_prompt: fromPrompt,
  }
}

function attentionSignals(
  { attentionFocus: focus = [] }: AnswerReadResult,
  evidence: readonly Evidence[],
): Pick<Signals, 'passage_entropy' | 'attended_rank' | 'token_peak' | 'token_entropy' | 'first_token_entropy' | 'from_prompt'> {
  const shares = evidence.flatMap(({ attention }) => attention ?? [])
  const [first] = focus
  if (first === undefined || shares.length === 0)
    return { passage_entropy: 0, attended_rank: 0, token_peak: 0, token_entropy: 0, first_token_entropy: 0, from_prompt: 1 }
  return {
    passage_entropy: relativeEntropy(shares),
    attended_rank: shares.indexOf(Math.max(...shares)) / shares.length,
    token_peak: mean(focus.map(({ peak }) => peak)),
    token_entropy: mean(focus.map(({ entropy }) => entropy)),
    first_token_entropy: first.entropy,
    from_prompt: 0,
  }
}

function doubt(logprob: number): number {
  return Math.log(LEAST_DOUBT - Math.min(0, logprob))
}

/** 0 if concentrated on one element, 1 if uniform. */
function relativeEntropy(shares: readonly number[]): number {
  const some = shares.filter((share) => share > 0)
  return some.length < 2 ? 0 : -some.reduce((sum, share) => sum + share * Math.log(share), 0) / Math.log(some.length)
}

function overlaps(
  question: string,
  answer: string,
  citing: readonly Evidence[],
): Pick<Signals, 'sentence_overlap' | 'title_overlap' | 'echo'> {
  const asked = plainWords(question)
  const answered = plainWords(answer)
  let [sentenceOverlap, titleOverlap, sentences] = [0, 0, 0]
  for (const { title, text, highlights } of citing) {
    const named = plainWords(title)
    titleOverlap = Math.max(titleOverlap, share([...named], asked))
    const wanted = contentStems([...asked].filter((word) => !named.has(word) && !answered.has(word)))
    for (const [start, end] of new Map(highlights.map(({ sentence }) => [sentence.start, sentence.end]))) {
      if (++sentences > MOST_SENTENCES) break
      const words = stemsOf(text.slice(start, Math.min(end, start + SENTENCE_CHARACTERS)))
      sentenceOverlap = Math.max(sentenceOverlap, share(wanted, words))
    }
    if (sentences > MOST_SENTENCES) break
  }
  return { sentence_overlap: sentenceOverlap, title_overlap: titleOverlap, echo: share([...answered], asked) }
}

/** Share of the words that are among others. */
function share(words: readonly string[], others: ReadonlySet<string>): number {
  return words.length === 0 ? 0 : words.filter((word) => others.has(word)).length / words.length
}
