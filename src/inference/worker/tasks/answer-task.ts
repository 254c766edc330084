import { planRead, type PlannedMode, type ReadPlan } from '../../../text/plan.ts'
import { asksForPhrase, instructed } from '../../../text/instruction.ts'
import { fixedLength, filled, inWords, isCut, onlyText, valueCount } from '../../../text/grammar/fill.ts'
import type { AnswerRead, AnswerToken, WrittenAnswer } from '../../contract.ts'
import type { Output, OnText, YieldPoint } from '../../protocol.ts'
import { answerResult, generateRequest, passageWeights, replugRequest, attendedSentences } from './answer-parts.ts'
import { expertsTask, generateTask, replugTask } from './generate-task.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import type { RunContext } from '../decoder/step-decoding.ts'
import { createTextStreamer } from '../decoder/text-streamer.ts'
import { timed } from '../runtime/timed.ts'
import type { Grammar } from '../../../text/grammar/grammar.ts'
import { at, mean, present, sum } from '../../../../base/at.ts'
import { nearestParts } from '../../../text/focus.ts'
import { plainText } from '../../../text/words.ts'
import { confidence } from '../../confidence.ts'

/** A request that is answered from one plan. */
export type PlannedRead = AnswerRead & { readonly mode: PlannedMode }

/** Plans the prompt of a question with its passages, and answers. @throws as planRead */
export async function answerTask(
  model: ReaderModel,
  read: PlannedRead,
  yieldPoint: YieldPoint,
  onText?: OnText,
): Promise<Output<'answer'>> {
  const { tokenizer, stopIds, limits } = model
  const wrap = tokenizer.chatWrap(read.chatTemplate ?? 'none', read.earlier)
  const question = instructed(read.question, read.instruction)
  const maxNewTokens = read.maxNewTokens + fixedLength(read.grammar)
  const { result: planned, ms } = await timed(() => planRead({ ...read, question, maxNewTokens, wrap }, limits, tokenizer, yieldPoint))
  const runContext = {
    yieldPoint,
    onToken:
      (onText ?? read.stop) &&
      createTextStreamer({ tokenizer, stopIds, stops: read.stop, heldBack: asksForPhrase(read.instruction), onText }),
  }
  const { plan, decoded } = await decode(model, read, planned, runContext)
  return {
    ...answerResult({ read, plan, decoded, stopIds, tokenizer }),
    ...(read.attendedSentences && { attended: await attendedSentences({ read, plan, decoded, tokenizer }, yieldPoint) }),
    timingsMs: { plan: ms, ...decoded.timingsMs },
  }
}

/** Decodes in the request's mode. @returns the plan of the passages that were read, too */
async function decode(
  model: ReaderModel,
  read: PlannedRead,
  plan: ReadPlan,
  runContext: RunContext,
): Promise<{ readonly plan: ReadPlan; readonly decoded: Output<'generate'> }> {
  const { stopIds } = model
  if (read.mode === 'replug') return { plan, decoded: await replugTask(model, replugRequest(read, plan, stopIds), runContext) }
  if (read.mode !== 'experts') return { plan, decoded: await generateTask(model, generateRequest(read, plan, stopIds), runContext) }
  const weights = read.passages.length === 0 ? [1] : passageWeights(read.passages)
  const { promptsRead, ...decoded } = await expertsTask(model, replugRequest(read, plan, stopIds), weights, runContext)
  const inDecoder = plan.inDecoder.map((fits, i) => fits && i < promptsRead)
  return { plan: { ...plan, inDecoder, prompts: plan.prompts.slice(0, promptsRead) }, decoded }
}

type Answer = Output<'answer'>

/** An answer, and the request for it alone: with the passages that it is from. */
interface Placed {
  readonly answer: Answer
  readonly asked: PlannedRead
  /** The same with the whole passage, of whose part the answer is. */
  readonly whole: PlannedRead
}

/**
 * Reads passages one at a time, best first, and returns the answer that is worth most: its confidence times the weight of its passage.
 * Extractive readers choose among passages in this way (Karpukhin et al. 2020, section 6.1); for a small decoder the other passages of a
 * common prompt are distractors. The first `kDecoder` passages are read in a prompt, the others through the encoder if the model has one.
 * With `focus` the parts of a passage that are nearest to the question are read in prompts, too, and the surest answer is that of the
 * passage. An empty answer says that the passage has none: its parts are not read, which would guess. As a confidence is 1 at most,
 * passages whose weight is not above the best answer's worth are not read.
 * @throws as answerTask
 */
async function mapRerankTask(model: ReaderModel, read: AnswerRead, yieldPoint: YieldPoint): Promise<Placed> {
  const weights = passageWeights(read.passages)
  const mode = model.limits.hasEncoder ? 'cepe' : 'decoder-only'
  const reading = async (asked: PlannedRead, whole = asked) => ({ asked, whole, answer: await answerTask(model, asked, yieldPoint) })
  const readings: Placed[][] = []
  let best: (Placed & { readonly worth: number; readonly passage: number }) | undefined
  for (const [i, weight] of weights.entries()) {
    if (best !== undefined && best.worth >= weight && best.worth > 0) break
    const passage = at(read.passages, i)
    const whole = { ...read, mode, passages: [passage], kDecoder: i < read.kDecoder ? 1 : 0 } as const
    const placed = [await reading(whole)]
    const parts = read.focus && at(placed, 0).answer.text !== '' ? nearestParts(read.question, passage.text) : []
    for (const text of parts)
      placed.push(await reading({ ...whole, passages: [{ ...passage, text }], kDecoder: Math.min(1, read.kDecoder) }, whole))
    readings.push(placed)
    const surest = placed.reduce((a, b) => (sureness(b.answer) > sureness(a.answer) ? b : a))
    const worth = sureness(surest.answer) * weight
    if (best === undefined || worth > best.worth) best = { ...surest, answer: agreed(surest.answer, placed), worth, passage: i }
  }
  const { passage, ...chosen } = present(best)
  return { ...chosen, answer: { ...chosen.answer, ...joined(read, readings, passage, chosen) } }
}

function sureness({ text, logprobs }: Answer): number {
  return text === '' ? 0 : confidence(logprobs)
}

/** The surest answer of several readings, with its mean confidence in all of them relative to its own: those that say otherwise have none. */
function agreed(surest: Answer, readings: readonly Placed[]): Answer {
  if (readings.length === 1 || surest.text === '') return surest
  const said = plainText(surest.text)
  const shares = readings.map(({ answer }) => (plainText(answer.text) === said ? sureness(answer) : 0))
  return { ...surest, agreement: mean(shares) / sureness(surest) }
}

/**
 * What an answer holds of all that was read.
 * @param readings by passage, the whole one first
 * @param chosen number of the answer's passage
 */
function joined({ passages, attendedSentences }: AnswerRead, readings: readonly (readonly Placed[])[], chosen: number, surest: Placed) {
  const wholes = readings.map((placed) => at(placed, 0))
  // The contexts of parts stand behind those of passages.
  const all = [...wholes, ...readings.flatMap((placed) => placed.slice(1))].map(({ answer }) => answer)
  const ms = (stage: keyof Answer['timingsMs']): number => sum(all.map(({ timingsMs }) => timingsMs[stage]))
  const encoded = wholes.flatMap(({ answer }, i) => (answer.contextOf[0] === 0 ? i : []))
  // A part has other offsets than its passage.
  const sentence = surest.asked === surest.whole ? (surest.answer.attended?.[0] ?? null) : null
  return {
    ...(attendedSentences && { attended: passages.map((_, i) => (i === chosen ? sentence : null)) }),
    contextOf: passages.map((_, i) => encoded.indexOf(i)),
    contextTokenCounts: all.flatMap(({ contextTokenCounts }) => contextTokenCounts),
    // An answer attended to its own passage only, or to none where it is from a prompt.
    contextShares: surest.answer.contextShares.length > 0 ? encoded.map((i) => (i === chosen ? 1 : 0)) : [],
    contexts: all.flatMap(({ contexts }) => contexts),
    inDecoder: passages.map((_, i) => readings[i]?.some(({ answer }) => answer.inDecoder.includes(true)) ?? false),
    promptTokens: sum(all.map(({ promptTokens }) => promptTokens)),
    prompts: all.flatMap(({ prompts }) => prompts),
    timingsMs: { plan: ms('plan'), encode: ms('encode'), generate: ms('generate') },
  }
}

/**
 * Answers greedily in words. This answer decides which passages are read and whether the reader is sure enough, whatever is asked for. Then
 * an answer is sampled from the same passages, or it is written in the form of the grammar.
 * @throws as answerTask
 */
export async function writtenAnswerTask(
  model: ReaderModel,
  { sampling, grammar, ...read }: AnswerRead,
  yieldPoint: YieldPoint,
  onText?: OnText,
): Promise<Answer> {
  const isPlain = sampling === undefined && grammar === undefined
  const { topTokens, ...silent } = read
  const { answer, asked, whole } = await placed(model, sampling ? silent : read, yieldPoint, isPlain ? onText : undefined)
  if (isPlain) return answer
  const { result, ms } = await timed(async () => {
    const said = sampling ? await answerTask(model, { ...asked, topTokens, sampling }, yieldPoint, grammar ? undefined : onText) : answer
    // Several values may stand in several sentences.
    const source = grammar && valueCount(grammar) > 1 ? whole : asked
    const formed = grammar && (await inForm(model, { ...source, topTokens, sampling, stop: [], grammar }, said, yieldPoint))
    return { said, ...(formed ?? { inWords: said, written: writtenOf(said) }) }
  })
  const { said, inWords, written } = result
  const { text, stopped, logprobs, timingsMs } = answer
  const isOther = inWords !== said || said.text !== text
  const other = isOther && { ...writtenOf(inWords), greedy: { text, stopped, logprobs } }
  return { ...answer, ...other, written, timingsMs: { ...timingsMs, generate: timingsMs.generate + ms } }
}

function writtenOf({ text, stopped, logprobs, tokens }: Answer): WrittenAnswer {
  return { text, stopped, logprobs, tokens }
}

async function placed(model: ReaderModel, read: AnswerRead, yieldPoint: YieldPoint, onText?: OnText): Promise<Placed> {
  const { mode, passages } = read
  if (mode === 'map-rerank' && passages.length > 0) return mapRerankTask(model, read, yieldPoint)
  const asked: PlannedRead = { ...read, mode: mode === 'map-rerank' ? 'decoder-only' : mode }
  return { answer: await answerTask(model, asked, yieldPoint, onText), asked, whole: asked }
}

/**
 * An answer in the form of a grammar: where the answer in words determines the value, the frame is put around it. Else a single value is
 * decoded in words, so that nothing but the value is scored, and several are decoded as JSON: the answer is as likely as they are.
 */
async function inForm(
  model: ReaderModel,
  { grammar, ...asked }: PlannedRead & { readonly grammar: Grammar },
  said: Answer,
  yieldPoint: YieldPoint,
): Promise<{ readonly inWords: Answer; readonly written: WrittenAnswer }> {
  // Without an answer its form has no text either.
  if (said.text === '' && grammar.filter(({ kind }) => kind === 'string').length === 1) return { inWords: said, written: writtenOf(said) }
  const open = filled(grammar, said.text)
  const text = onlyText(open)
  const isWhole = !isCut(grammar, said.text)
  if (text !== undefined) return { inWords: said, written: framed(said, text, isWhole) }
  const words = inWords(grammar)
  if (words === undefined) {
    // Tokens of the answer in words are those of the only string; text that the grammar fixes is not generated.
    const spent = open === grammar ? [] : said.logprobs
    const maxNewTokens = Math.max(0, asked.maxNewTokens - spent.length)
    const json = await answerTask(model, { ...asked, maxNewTokens, topTokens: asked.topTokens ?? 0, grammar: open }, yieldPoint)
    // Of tokens that say something: neither those that the grammar fixes, which have 0, nor JSON's own.
    const logprobs = withNumbers(json.tokens).flatMap(({ text, logprob }) => (logprob < 0 && /[\p{L}\p{N}]/u.test(text) ? logprob : []))
    const isLess = logprobs.length > 0 && confidence(logprobs) < confidence(said.logprobs)
    return {
      inWords: isLess ? { ...said, logprobs } : said,
      written: {
        text: json.text,
        stopped: json.stopped && isWhole,
        logprobs: [...spent, ...json.logprobs.filter((logprob) => logprob < 0)],
        tokens: json.tokens && withAnswer(json.tokens, said.tokens),
      },
    }
  }
  const value = await answerTask(model, { ...asked, grammar: words.grammar }, yieldPoint)
  const isNumber = words.grammar.every(({ kind }) => kind !== 'choice')
  const scored = isNumber ? { ...value, logprobs: [sum(value.logprobs)] } : value
  return { inWords: scored, written: framed(value, words.json(value.text), isWhole) }
}

/** Tokens with those of a number as one, which is as likely as all of them together: after an unlikely digit others, such as zeros, are likely. */
function withNumbers(tokens: readonly AnswerToken[] = []): AnswerToken[] {
  return tokens.reduce<AnswerToken[]>((found, token) => {
    const last = found.at(-1)
    if (last === undefined || ![last, token].every(({ text }) => /^\s*[-.\d]+$/.test(text))) return [...found, token]
    return [...found.slice(0, -1), { ...token, text: last.text + token.text, logprob: last.logprob + token.logprob }]
  }, [])
}

/** @param text of the whole grammar; a number or choice that stands for the answer has ended there */
function framed({ text: answer, stopped, logprobs, tokens }: Answer, text: string, isWhole: boolean): WrittenAnswer {
  const isOther = !text.includes(JSON.stringify(answer).slice(1, -1))
  return { text, stopped: isWhole && (stopped || isOther), logprobs, tokens: tokens && framedTokens(tokens, text) }
}

/** Tokens of a JSON text around an answer; one for all of it if the answer does not stand in it as it is. */
function framedTokens(tokens: readonly AnswerToken[], text: string): AnswerToken[] {
  const escaped = tokens.map(escapedToken)
  const answer = textOf(escaped)
  const from = answer === '' ? -1 : text.lastIndexOf(answer)
  if (from < 0) return [{ text, logprob: tokens.reduce((sum, { logprob }) => sum + logprob, 0), top: [] }]
  return put(escaped, from, [{ text, logprob: 0, top: [] }])
}

/** Tokens of JSON with those of the answer in words for the fixed ones that write it, whose log-probability is 0. */
function withAnswer(tokens: readonly AnswerToken[], said: readonly AnswerToken[] = []): AnswerToken[] {
  const words = said.map(escapedToken)
  const [json, value] = [textOf(tokens), textOf(words)]
  for (const { 0: colon, index } of json.matchAll(/:\s*"/g)) {
    const from = index + colon.length
    const isFixed = tokensIn(tokens, from, from + value.length).every(({ logprob }) => logprob === 0)
    if (value !== '' && json.startsWith(`${value}"`, from) && isFixed) return put(words, from, tokens)
  }
  return [...tokens]
}

/** Tokens with others for those that stand at an offset of their text. */
function put(words: readonly AnswerToken[], from: number, tokens: readonly AnswerToken[]): AnswerToken[] {
  return [...tokensIn(tokens, 0, from), ...words, ...tokensIn(tokens, from + textOf(words).length, Infinity)]
}

/** The tokens of a part of a text, cut to it. */
function tokensIn(tokens: readonly AnswerToken[], from: number, to: number): AnswerToken[] {
  let end = 0
  return tokens.flatMap((token) => {
    const start = end
    end += token.text.length
    const text = token.text.slice(Math.max(0, from - start), Math.max(0, to - start))
    return text === '' ? [] : { ...token, text }
  })
}

function escapedToken(token: AnswerToken): AnswerToken {
  return { ...token, text: JSON.stringify(token.text).slice(1, -1) }
}

function textOf(tokens: readonly AnswerToken[]): string {
  return tokens.map(({ text }) => text).join('')
}
