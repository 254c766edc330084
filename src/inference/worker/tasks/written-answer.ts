import { sum } from '../../../../base/at.ts'
import { determined, inWords, stringIn, valueIn } from '../../../text/grammar/fill.ts'
import { isValue, type Grammar, type Value } from '../../../text/grammar/grammar.ts'
import { confidence, sureness } from '../../confidence.ts'
import type { AnswerRead, WrittenAnswer } from '../../contract.ts'
import type { Output, OnText, YieldPoint } from '../../protocol.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { timed } from '../runtime/timed.ts'
import { answerTask } from './answer-task.ts'
import { fixedToken, framedTokens } from './json-tokens.ts'
import { inPassage, mapRerankTask, type Placed } from './map-rerank.ts'

type Answer = Output<'answer'>
type Reading = Omit<AnswerRead, 'grammar'>

interface Run {
  readonly model: ReaderModel
  readonly read: Reading
  readonly yieldPoint: YieldPoint
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
  const first = await placed(model, read, yieldPoint, isPlain ? onText : undefined)
  const { answer } = first
  if (isPlain) return answer
  const { result, ms } = await timed(async () => {
    const run = { model, read, yieldPoint }
    const said = await sampled(run, first, grammar ? undefined : onText)
    const formed = grammar && (await inForm(run, grammar, { ...first, answer: said }))
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

function readsOneByOne({ mode, passages }: Reading): boolean {
  return mode === 'map-rerank' && passages.length > 0
}

/** The greedy answer; without its tokens where another one is sampled. */
async function placed(
  model: ReaderModel,
  { sampling, topTokens, ...rest }: Reading,
  yieldPoint: YieldPoint,
  onText?: OnText,
): Promise<Placed> {
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
  let left = read.maxNewTokens
  for (const part of grammar) {
    if (!isValue(part)) parts.push({ text: part.text, stopped: true, logprobs: [], tokens: [fixedToken(part.text)] })
    else if (left < 1) break
    else {
      const own = values.length > 1 && part.question !== undefined ? await readField(run, part.question, said, left) : said
      const value = await formOf(run, part, part === found && sureness(answer) >= sureness(own.answer) ? said : own)
      formed.push(value)
      parts.push(value.written)
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

/** Reads a value where the answer was read. A passage that was read alone is what its question is about. */
async function readField({ model, read, yieldPoint }: Run, ask: string, { whole }: Placed, maxNewTokens: number): Promise<Placed> {
  const question = readsOneByOne(read) ? ask : `${read.question} ${ask}`
  const own = { ...read, question, passages: whole.passages, kDecoder: whole.kDecoder, maxNewTokens }
  const greedy = await placed(model, own, yieldPoint)
  return { ...greedy, answer: await sampled({ model, read: own, yieldPoint }, greedy) }
}

/** The value that an answer in words names, or decoded from what that is from, so that nothing but the value is scored. */
async function formOf({ model, read, yieldPoint }: Run, value: Value, { answer, asked }: Placed): Promise<Formed> {
  const named = value.kind === 'string' ? undefined : valueIn(value, answer.text)
  const isNone = answer.text === '' || (named === undefined && (value.kind === 'number' || value.kind === 'integer'))
  if (value.isNullable && isNone) return { inWords: answer, written: framed(answer, 'null') }
  if (value.kind === 'string') {
    const text = stringIn(value, answer.text)
    return { inWords: answer, written: framed(answer, text, text === JSON.stringify(answer.text)) }
  }
  if (named !== undefined) return { inWords: answer, written: framed(answer, named) }
  const words = inWords(value)
  const decoded = await answerTask(
    model,
    { ...asked, topTokens: read.topTokens, sampling: read.sampling, stop: [], value: words.value },
    yieldPoint,
  )
  // A number is as likely as all its digits together: after an unlikely one others, such as zeros, are likely.
  const scored = value.kind === 'choice' ? decoded : { ...decoded, logprobs: [sum(decoded.logprobs)] }
  return { inWords: scored, written: framed(decoded, words.json(decoded.text)) }
}

/** @param text JSON of a value; a number or choice that stands for the answer has ended there */
function framed({ text: answer, stopped, logprobs, tokens }: Answer, text: string, isWhole = true): WrittenAnswer {
  const isOther = !text.includes(JSON.stringify(answer).slice(1, -1))
  return { text, stopped: isWhole && (stopped || isOther), logprobs, tokens: tokens && framedTokens(tokens, text) }
}
