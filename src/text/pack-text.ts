import { CodedError } from '../../base/errors.ts'
import { NO_WRAP } from './chat-template.ts'
import { frontIds, type PackedPrompt, type PackOptions, type PromptTokenizer } from './pack.ts'
import { BLOCK_SEPARATOR, renderDemonstration, renderPassage, renderQuestion } from './prompt.ts'

/** Truncation notice of the paper's evaluation. */
const OMITTED = '... [The rest of the documents is omitted]\n\n'

/**
 * Packs the decoder prompt as in the paper's evaluation: passages are not truncated individually; if they are too long together, the text
 * before the question is truncated anywhere, with a notice. `passagesUsed` counts passages that are at least partly included.
 * @throws unprocessable if the question alone does not fit
 */
export function packText(
  { question, demonstrations, passages, window, maxNewTokens, wrap = NO_WRAP }: PackOptions,
  tokenizer: PromptTokenizer,
): PackedPrompt {
  const front = frontIds(tokenizer, wrap)
  const budget = window - maxNewTokens
  const blocks = [...demonstrations.map(renderDemonstration), ...passages.map(renderPassage)].map((block) => block + BLOCK_SEPARATOR)
  const before = wrap.before + blocks.join('')
  const asked = renderQuestion(question) + wrap.after
  const whole = [...front, ...tokenizer.encode(before + asked, { maxTokens: budget + 1 })]
  if (whole.length <= budget) return { text: before + asked, ids: whole, passagesUsed: passages.length }

  const query = tokenizer.encode(OMITTED + asked)
  const room = budget - query.length
  if (room < 1)
    throw new CodedError(
      'unprocessable',
      `question has ${query.length} tokens, but the model's window leaves ${budget}: shorten the question.`,
      {
        field: 'question',
      },
    )
  const kept = [...front, ...tokenizer.encode(before, { maxTokens: room })].slice(0, room)
  const keptText = tokenizer.decode(kept)
  const begins = (passage: number) =>
    wrap.before.length + blocks.slice(0, demonstrations.length + passage).join('').length < keptText.length
  const passagesUsed = passages.filter((_, i) => begins(i)).length
  return { text: keptText + OMITTED + asked, ids: [...kept, ...query], passagesUsed }
}
