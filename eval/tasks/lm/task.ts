import { CodedError } from '../../../base/errors.ts'
import { taskData, type TaskOptions } from '../../run/options.ts'
import { figure } from '../../report/blocks.ts'
import { askedInTurn, type PreparedTask, type ReaderClient, type Task, type TaskItem } from '../../run/contract.ts'
import { ProblemLog } from '../../datasets/question-set.ts'
import { demoCorpus } from '../../datasets/shipped.ts'
import { type Method, METHODS, methodSettings, overLength, perplexityOf, retrievalScores, scoreText, sizesOf } from '../language/score.ts'
import { isPassageFile, joinTexts, type LanguageText, readTexts, slices } from '../language/texts.ts'

/** Long-context language modelling: Table 1 of the paper. */
export const lm: Task = {
  ...taskData('lm'),
  prepare,
  figures: (summary) => [
    figure(
      'perplexity',
      'Perplexity over the length of the text, one line per method; every point scores the same tokens.',
      overLength(summary, 'perplexity', perplexityOf),
    ),
    figure(
      'memory',
      'Memory of keys, values and encoder states, computed from the sizes of the model (f32), over the length of the text.',
      overLength(summary, 'MiB', ({ cacheMiB }) => cacheMiB),
    ),
  ],
}

async function prepare(options: TaskOptions, client: ReaderClient): Promise<PreparedTask> {
  const { tokens: scoredTokens, ...sizes } = sizesOf(options, 'scoredTokens', 'read')
  const { contextTokens, decoderTokens } = sizes
  const problems = new ProblemLog()
  const { window } = client.manifest.dims
  const half = Math.floor(window / 2)
  const sinks = options.integer('sinks')
  const cache = {
    sinks,
    recent: options.integer('recent', 1, { otherwise: Math.max(1, half - sinks) }),
    stride: options.integer('stride', 1, { otherwise: half }),
  }
  const described = (contexts: number) => `${contexts} x ${contextTokens} + ${decoderTokens}`
  const whyNot = (method: Method) => (method === 'streaming' ? whyKeysStay(client.manifest) : undefined)
  const settings = methodSettings(options, { allowed: METHODS, sizes, window, described, whyNot }, problems)
  const total = Math.max(...settings.map(({ contexts }) => contexts)) * contextTokens + decoderTokens
  const file = options.text('data') ?? demoCorpus()
  const data = await readTexts(file, client.tokenizer, options.text('textField'))
  const least = Math.max(total, options.integer('minTokens'))
  const texts = isPassageFile(file) ? joinTexts(data.texts, least) : data.texts
  const windows = windowsOf(texts, { total, least, step: options.integer('step', 1) }, problems).slice(0, options.integer('windows', 1))
  const byScores = options.word('replugWeights', ['uniform', 'scores']) === 'scores'
  return {
    ...askedInTurn(windows, settings, async ({ text, start }, { name, method, contexts }) => {
      // The window's last tokens go to the decoder, those before are contexts. Files with separate preceding tokens are cut there.
      const { before, ids: all } = text
      const earlier = before ?? all.slice(start, start + total - decoderTokens)
      const ids = before ? all.slice(0, decoderTokens) : all.slice(start + total - decoderTokens, start + total)
      if (earlier.length < contexts * contextTokens || ids.length < decoderTokens)
        throw new CodedError('unprocessable', `The text has fewer than ${contexts} x ${contextTokens} + ${decoderTokens} tokens.`)
      const contextIds = slices(earlier.slice(earlier.length - contexts * contextTokens), contextTokens)
      const contextScores = method === 'replug' && byScores ? await retrievalScores({ contextIds, ids }, client) : contextIds.map(() => 0)
      return { setting: name, ...(await scoreText(method, { contextIds, ids, scoredTokens, contextScores }, client, cache)) }
    }),
    files: [data],
    problems: problems.list(),
  }
}

/** Why the model's cached keys cannot be shifted, as streaming requires; undefined if they can. */
function whyKeysStay({ rotary, dtype }: ReaderClient['manifest']): string | undefined {
  if (rotary === undefined) return 'setting needs a manifest with the rotary frequencies: build the model again'
  if (rotary === null || !('frequencies' in rotary)) return 'setting shifts cached keys, which this rotary embedding does not allow'
  return dtype.startsWith('f16') ? 'setting needs f32 keys and values: build with dtype f32, int8, int8+int4 or int4' : undefined
}

/** Windows of `total` tokens from the start of every text in steps; skips texts of fewer than `least` tokens. */
function windowsOf(
  texts: readonly LanguageText[],
  { total, least, step }: { readonly total: number; readonly least: number; readonly step: number },
  problems: ProblemLog,
): (TaskItem & { readonly text: LanguageText; readonly start: number })[] {
  return texts.flatMap((text) => {
    if (text.before) return [{ id: text.id, groups: {}, text, start: 0 }]
    if (text.ids.length < least) {
      problems.add(`text of fewer than ${least} tokens`, text.id)
      return []
    }
    const starts = Array.from({ length: 1 + Math.max(0, Math.ceil((text.ids.length - total) / step) - 1) }, (_, i) => i * step)
    return starts.map((start) => ({ id: `${text.id} @ ${start}`, groups: {}, cluster: text.id, text, start }))
  })
}
