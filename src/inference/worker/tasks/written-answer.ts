import { sum } from '../../../../base/at.ts'
import { filled, inWords, isCut, onlyText, valueCount } from '../../../text/grammar/fill.ts'
import type { Grammar } from '../../../text/grammar/grammar.ts'
import { confidence } from '../../confidence.ts'
import type { AnswerRead, WrittenAnswer } from '../../contract.ts'
import type { Output, OnText, YieldPoint } from '../../protocol.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { timed } from '../runtime/timed.ts'
import { answerTask, type PlannedRead } from './answer-task.ts'
import { framedTokens, withAnswer, withNumbers } from './json-tokens.ts'
import { inPassage, mapRerankTask, type Placed } from './map-rerank.ts'

type Answer = Output<'answer'>

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
  const sampled = async (asked: PlannedRead): Promise<Answer> => {
    if (!readsOneByOne(read)) return answerTask(model, asked, yieldPoint, grammar ? undefined : onText)
    return (await inPassage(model, { answer: await answerTask(model, asked, yieldPoint), asked, whole }, yieldPoint)).answer
  }
  const { result, ms } = await timed(async () => {
    const said = sampling ? await sampled({ ...asked, topTokens, sampling }) : answer
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

function readsOneByOne({ mode, passages }: AnswerRead): boolean {
  return mode === 'map-rerank' && passages.length > 0
}

async function placed(model: ReaderModel, read: AnswerRead, yieldPoint: YieldPoint, onText?: OnText): Promise<Placed> {
  if (readsOneByOne(read)) return mapRerankTask(model, read, yieldPoint)
  const asked: PlannedRead = { ...read, mode: read.mode === 'map-rerank' ? 'decoder-only' : read.mode }
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
    const maxNewTokens = asked.isDefaultLimit ? asked.maxNewTokens : Math.max(0, asked.maxNewTokens - spent.length)
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

/** @param text of the whole grammar; a number or choice that stands for the answer has ended there */
function framed({ text: answer, stopped, logprobs, tokens }: Answer, text: string, isWhole: boolean): WrittenAnswer {
  const isOther = !text.includes(JSON.stringify(answer).slice(1, -1))
  return { text, stopped: isWhole && (stopped || isOther), logprobs, tokens: tokens && framedTokens(tokens, text) }
}
