import { filled, inWords, onlyText } from '../../../text/grammar/fill.ts'
import type { Grammar } from '../../../text/grammar/grammar.ts'
import type { AnswerRead, AnswerToken, WrittenAnswer } from '../../contract.ts'
import type { OnText, Output, YieldPoint } from '../../protocol.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { timed } from '../runtime/timed.ts'
import { answerTask, type PlannedRead } from './answer-task.ts'
import { mapRerankTask, type Placed } from './map-rerank-task.ts'

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
  const { answer, asked } = await placed(model, sampling ? silent : read, yieldPoint, isPlain ? onText : undefined)
  if (isPlain) return answer
  const { result, ms } = await timed(async () => {
    const again = { ...asked, topTokens, sampling }
    const said = sampling ? await answerTask(model, again, yieldPoint, grammar ? undefined : onText) : answer
    return grammar ? inForm(model, { ...again, stop: [], grammar }, said, yieldPoint) : { inWords: said, written: writtenOf(said) }
  })
  const { text, stopped, logprobs, timingsMs } = answer
  const isOther = result.inWords.text !== text
  const other = isOther && { ...writtenOf(result.inWords), greedy: { text, stopped, logprobs } }
  return { ...answer, ...other, written: result.written, timingsMs: { ...timingsMs, generate: timingsMs.generate + ms } }
}

function writtenOf({ text, stopped, logprobs, tokens }: Answer): WrittenAnswer {
  return { text, stopped, logprobs, tokens }
}

async function placed(model: ReaderModel, read: AnswerRead, yieldPoint: YieldPoint, onText?: OnText): Promise<Placed> {
  const { mode, passages } = read
  if (mode === 'map-rerank' && passages.length > 0) return mapRerankTask(model, read, yieldPoint)
  const asked: PlannedRead = { ...read, mode: mode === 'map-rerank' ? 'decoder-only' : mode }
  return { answer: await answerTask(model, asked, yieldPoint, onText), asked }
}

/**
 * An answer in the form of a grammar: where the answer in words determines the value, the frame is put around it. Else a single value is
 * decoded in words, so that nothing but the value is scored, and several are decoded as JSON.
 */
async function inForm(
  model: ReaderModel,
  { grammar, ...asked }: PlannedRead & { readonly grammar: Grammar },
  said: Answer,
  yieldPoint: YieldPoint,
): Promise<{ readonly inWords: Answer; readonly written: WrittenAnswer }> {
  const open = filled(grammar, said.text)
  const text = onlyText(open)
  if (text !== undefined) return { inWords: said, written: framed(said, text) }
  const words = inWords(grammar)
  if (words === undefined) return { inWords: said, written: writtenOf(await answerTask(model, { ...asked, grammar: open }, yieldPoint)) }
  const value = await answerTask(model, { ...asked, grammar: words.grammar }, yieldPoint)
  return { inWords: value, written: framed(value, words.json(value.text)) }
}

/** @param text of the whole grammar; an answer that it holds in part has ended there */
function framed({ text: answer, stopped, logprobs, tokens }: Answer, text: string): WrittenAnswer {
  const isWhole = text.includes(JSON.stringify(answer).slice(1, -1))
  return { text, stopped: stopped || !isWhole, logprobs, tokens: tokens && framedTokens(tokens, text) }
}

/** Tokens of a JSON text around an answer; one for all of it if the answer does not stand in it as it is. */
function framedTokens(tokens: readonly AnswerToken[], text: string): AnswerToken[] {
  const escaped = tokens.map((token) => ({ ...token, text: JSON.stringify(token.text).slice(1, -1) }))
  const answer = escaped.map(({ text }) => text).join('')
  const from = answer === '' ? -1 : text.lastIndexOf(answer)
  if (from < 0) return [{ text, logprob: tokens.reduce((sum, { logprob }) => sum + logprob, 0), top: [] }]
  const fixed = (part: string): AnswerToken[] => (part === '' ? [] : [{ text: part, logprob: 0, top: [] }])
  return [...fixed(text.slice(0, from)), ...escaped, ...fixed(text.slice(from + answer.length))]
}
