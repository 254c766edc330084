import { sum } from '../../../../base/at.ts'
import { determined, inWords, stringIn, valueIn } from '../../../text/grammar/fill.ts'
import { isValue, type Grammar, type Value } from '../../../text/grammar/grammar.ts'
import { NEGATIVE } from '../../../text/signed-amount.ts'
import { confidence, sureness } from '../../confidence.ts'
import type { AnswerRead, WrittenAnswer } from '../../contract.ts'
import type { OnText, YieldPoint } from '../../protocol.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { timed } from '../runtime/timed.ts'
import { answerTask, type Answer } from './answer-task.ts'
import { fixedToken, framedTokens } from './json-tokens.ts'
import { inPassage, mapRerankTask, type Placed } from './map-rerank.ts'

type Reading = Omit<AnswerRead, 'grammar'>

interface Run {
  readonly model: ReaderModel
  readonly read: Reading
  readonly yieldPoint: YieldPoint
  /** Greedy answers to the questions of values. */
  readonly readings: Answer[]
}

/** A form or value, and the answer in words that it is from, as likely as it. */
interface Formed {
  readonly inWords: Answer
  readonly written: WrittenAnswer
}

/**
 * Answers greedily in words. This answer decides which passages are read and whether the reader is sure enough, whatever is asked for. Then
 * an answer is sampled from the same passages, or it is written in the form of the grammar.
 * @throws as answerTask
 */
export async function writtenAnswerTask(
  model: ReaderModel,
  { grammar, ...read }: AnswerRead,
  yieldPoint: YieldPoint,
  onText?: OnText,
): Promise<Answer> {
  const isPlain = read.sampling === undefined && grammar === undefined
  const run: Run = { model, read, yieldPoint, readings: [] }
  const first = await placed(run, isPlain ? onText : undefined)
  const { answer } = first
  if (isPlain) return answer
  const { result, ms } = await timed(async () => {
    const said = await sampled(run, first, grammar ? undefined : onText)
    const formed = grammar && (await inForm(run, grammar, { ...first, answer: said }))
    return { said, ...(formed ?? { inWords: said, written: writtenOf(said) }) }
  })
  const { said, inWords, written } = result
  const { text, stopped, logprobs, timingsMs } = answer
  const isOther = inWords !== said || said.text !== text
  const other = isOther && { ...writtenOf(inWords), greedy: { text, stopped, logprobs } }
  const promptTokens = sum([answer, ...run.readings].map((each) => each.promptTokens))
  return { ...answer, ...other, written, promptTokens, timingsMs: { ...timingsMs, generate: timingsMs.generate + ms } }
}

function writtenOf({ text, stopped, logprobs, tokens }: Answer): WrittenAnswer {
  return { text, stopped, logprobs, tokens }
}

function readsOneByOne({ mode, passages }: Reading): boolean {
  return mode === 'map-rerank' && passages.length > 0
}

/** The greedy answer; without its tokens where another one is sampled. */
async function placed({ model, read: { sampling, topTokens, ...rest }, yieldPoint }: Run, onText?: OnText): Promise<Placed> {
  const read = sampling ? rest : { ...rest, topTokens }
  if (readsOneByOne(read)) return mapRerankTask(model, read, yieldPoint)
  const asked = { ...read, mode: read.mode === 'map-rerank' ? 'decoder-only' : read.mode } as const
  return { answer: await answerTask(model, asked, yieldPoint, onText), asked, whole: asked }
}

/** Another answer from what the greedy one is from; that one without sampling. */
async function sampled({ model, read, yieldPoint }: Run, { answer, asked, whole }: Placed, onText?: OnText): Promise<Answer> {
  if (read.sampling === undefined) return answer
  const again = { ...asked, topTokens: read.topTokens, sampling: read.sampling }
  if (!readsOneByOne(read)) return answerTask(model, again, yieldPoint, onText)
  return (await inPassage(model, { answer: await answerTask(model, again, yieldPoint), asked: again, whole }, yieldPoint)).answer
}

/**
 * An answer in the form of a grammar. An only value is what the answer in words determines, and else decoded. Each of several is read from the
 * passage of the answer by its own question; where the answer determines it, too, the surer reading is taken. The form is as likely as
 * its least likely value: sure ones do not make up for it.
 */
async function inForm(run: Run, grammar: Grammar, said: Placed): Promise<Formed> {
  const { read } = run
  const { answer } = said
  const values = grammar.filter(isValue)
  // Without an answer its form has no text either.
  if (answer.text === '' && values.filter(({ kind }) => kind === 'string').length === 1)
    return { inWords: answer, written: writtenOf(answer) }
  const found = determined(grammar, answer.text)
  const formed: Formed[] = []
  const parts: WrittenAnswer[] = []
  let [left, isClosed] = [read.maxNewTokens, true]
  for (const [i, part] of grammar.entries()) {
    // No more is written than there are tokens for. A number that they cut is not closed either: it would be taken for the whole one.
    if (!isClosed || (left < 1 && i < grammar.length - 1)) break
    if (!isValue(part)) parts.push({ text: part.text, stopped: true, logprobs: [], tokens: [fixedToken(part.text)] })
    else {
      const own = (values.length > 1 ? await readField(run, part, said, left) : undefined) ?? said
      const isSaid = part === found && (read.isDefaultLimit || answer.logprobs.length <= left) && sureness(answer) >= sureness(own.answer)
      const value = await formOf(run, part, isSaid ? said : own)
      formed.push(value)
      parts.push(value.written)
      isClosed = value.written.stopped || part.kind === 'string' || part.kind === 'choice'
      if (!read.isDefaultLimit) left -= value.written.logprobs.length
    }
  }
  const written = {
    text: parts.map(({ text }) => text).join(''),
    stopped: parts.length === grammar.length && parts.every(({ stopped }) => stopped),
    logprobs: parts.flatMap(({ logprobs }) => logprobs),
    tokens: read.topTokens === undefined ? undefined : parts.flatMap(({ tokens = [] }) => tokens),
  }
  const [only = { inWords: answer }, ...others] = formed
  if (others.length === 0) return { inWords: only.inWords, written }
  // Null stands for words that name no value, however unlikely they are.
  const counted = formed.filter(({ inWords, written }) => written.text !== 'null' || inWords.text === '')
  const least = [answer, ...counted.map(({ inWords }) => inWords)].reduce((a, b) =>
    confidence(b.logprobs) < confidence(a.logprobs) ? b : a,
  )
  return { inWords: least === answer ? answer : { ...answer, logprobs: least.logprobs }, written }
}

/** Reads a value where the answer was read, by the first of its questions whose reading names it, else by the last. */
async function readField(run: Run, part: Value, { whole }: Placed, maxNewTokens: number): Promise<Placed | undefined> {
  const { read, readings } = run
  let found: Placed | undefined
  for (const ask of part.questions ?? []) {
    // A passage that was read alone is what a question is about.
    const question = readsOneByOne(read) ? ask : `${read.question} ${ask}`
    const own = { ...run, read: { ...read, question, passages: whole.passages, kDecoder: whole.kDecoder, maxNewTokens } }
    const greedy = await placed(own)
    readings.push(greedy.answer)
    found = { ...greedy, answer: await sampled(own, greedy) }
    const { text } = found.answer
    if (part.kind === 'string' ? text !== '' : valueIn(part, text) !== undefined) break
  }
  return found
}

/** The value that an answer in words names, or decoded from what that is from, so that nothing but the value is scored. */
async function formOf({ model, read, yieldPoint }: Run, value: Value, { answer, asked, whole }: Placed): Promise<Formed> {
  const { text, stopped } = answer
  const written = (json: string, isEnded: boolean): Formed => ({ inWords: answer, written: framed(answer, json, isEnded) })
  const told = value.kind === 'string' ? undefined : valueIn(value, text)
  const isNone = text === '' || (told === undefined && (value.kind === 'number' || value.kind === 'integer'))
  if (value.isNullable && isNone) return written('null', stopped)
  if (value.kind === 'string') {
    const json = stringIn(value, text)
    return written(json, stopped && json === JSON.stringify(text))
  }
  // What follows the last words of a cut answer may change its value: "1," of 1,250 and "5 degrees Celsius" of 5 degrees Celsius below zero.
  const sure = stopped || told === undefined ? told : valueIn(value, text.split(' ').slice(0, -4).join(' '))
  if (told !== undefined && sure === told) return written(told, true)
  const words = inWords(value)
  const isUnsigned = whole.passages.length > 0 && !whole.passages.some(({ text }) => NEGATIVE.test(text))
  const masked = { ...asked, topTokens: read.topTokens, sampling: read.sampling, stop: [], value: { ...words.value, isUnsigned } }
  const decoded = await answerTask(model, masked, yieldPoint)
  // A number is as likely as all its digits together: after an unlikely one others, such as zeros, are likely.
  const scored = value.kind === 'choice' ? decoded : { ...decoded, logprobs: [sum(decoded.logprobs)] }
  // A number in place of one that the limit of the request cuts may be its beginning.
  const isEnded = decoded.stopped && (stopped || asked.isDefaultLimit === true || value.kind === 'choice')
  return { inWords: scored, written: framed(decoded, words.json(decoded.text), isEnded) }
}

/** @param text JSON of a value */
function framed({ logprobs, tokens }: Answer, text: string, stopped: boolean): WrittenAnswer {
  return { text, stopped, logprobs, tokens: tokens && framedTokens(tokens, text) }
}
