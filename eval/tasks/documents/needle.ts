import { type Figure, figure } from '../../report/blocks.ts'
import { linesOver } from '../../report/lines.ts'
import { askedInTurn, type PreparedTask, type ReaderClient, type TaskItem, type TaskSummary } from '../../run/contract.ts'
import { invalidOption, type TaskOptions } from '../../run/options.ts'
import type { GroupScores } from '../../run/summary.ts'
import { generateText, promptSizes, reachingEncoder } from './generate.ts'
import { splitDocument } from '../../../src/text/document/plan-document.ts'

/** A needle in a long text: the text up to the question, the question, and the judgement of an output. */
export interface NeedleItem extends TaskItem {
  readonly document: string
  readonly question: string
  readonly expected: string
}

export interface NeedleTask {
  readonly items: readonly NeedleItem[]
  readonly files: PreparedTask['files']
  readonly problems?: PreparedTask['problems']
  readonly metric: string
  readonly judge: (output: string, expected: string) => boolean
  /** Whether a line end ends the output; the end token always does. */
  readonly stopAtLineEnd: boolean
}

/** Generated numeric needles: the first number of the output is the answer. */
export const NUMBERS: Pick<NeedleTask, 'files' | 'metric' | 'judge' | 'stopAtLineEnd'> = {
  files: [],
  metric: 'accuracy',
  judge: (output, expected) => Number(/\d+/.exec(output)?.[0]) === Number(expected),
  stopAtLineEnd: false,
}

/** Asks every item with its whole text in the decoder, and with the beginning of the text in the encoder. */
export function prepareNeedles(task: NeedleTask, options: TaskOptions, client: ReaderClient): PreparedTask {
  const methods = options.words('methods', ['cepe', 'decoder-only'])
  const { window } = client.manifest.dims
  const [maxNewTokens, minNewTokens] = [options.integer('maxNewTokens', 1), options.integer('minNewTokens', 0, { otherwise: 0 })]
  const wanted = { maxNewTokens, needsEncoder: methods.includes('cepe'), without: '--methods decoder-only' }
  const { promptTokens: budget, chunkTokens } = promptSizes(options, wanted, client)
  const idsOf = ({ document, question }: NeedleItem) => ({
    documentIds: client.tokenizer.encode(document, { bos: true }),
    questionIds: client.tokenizer.encode(question),
  })
  const lengthsOf = (item: NeedleItem) => {
    const { documentIds, questionIds } = idsOf(item)
    return { document: documentIds.length, question: questionIds.length }
  }
  const idle = methods.includes('cepe') && reachingEncoder([Infinity], task.items, lengthsOf, budget).idle.length > 0
  const settings = idle ? methods.filter((method) => method !== 'cepe') : methods
  const nothing = `every text fits into the ${budget} tokens of the decoder, so that the encoder reads nothing (lower --decoder-tokens)`
  if (settings.length === 0) throw invalidOption(`No setting can be asked: cepe: ${nothing}.`)
  return {
    files: task.files,
    problems: [...(task.problems ?? []), ...(idle ? [{ kind: nothing, count: 1, places: ['cepe'], effect: 'skipped' as const }] : [])],
    ...askedInTurn(
      task.items,
      settings.map((name) => ({ name })),
      async (needle, { name }) => {
        const { documentIds, questionIds } = idsOf(needle)
        const whole = documentIds.length + questionIds.length
        const room = name === 'cepe' ? budget : whole
        // A text that exceeds the decoder's window has no score in the decoder-only setting.
        if (room + maxNewTokens > window) return undefined
        const split = splitDocument({ documentIds, questionIds, decoderTokens: room, encoderTokens: Infinity, chunkTokens })
        const { output, ...cost } = await generateText(split, { maxNewTokens, minNewTokens, stopAtLineEnd: task.stopAtLineEnd }, client)
        const scores = { [task.metric]: task.judge(output, needle.expected) ? 1 : 0, tokens: whole }
        return { setting: name, scores, output, expected: [needle.expected], ...cost }
      },
    ),
  }
}

/** The accuracy at each numeric value of a group that has items. */
export function accuracyAt(scores: readonly GroupScores[], name: string): { readonly x: number; readonly y: number }[] {
  return scores.flatMap(({ group, value, scores: { accuracy } }) =>
    group === name && accuracy && accuracy.n > 0 ? { x: Number(value), y: accuracy.mean } : [],
  )
}

/** Plots the accuracy of every setting over the numeric values of a group, which are `what`, one line per setting. */
export function accuracyOver({ settings }: TaskSummary, group: string, what: string, title = group): Figure {
  const points = settings.flatMap(({ setting, groups }) => accuracyAt(groups, group).map((point) => ({ series: setting, ...point })))
  const spec = linesOver(points, { x: title, y: 'accuracy (%)', series: 'setting' }, { domain: [0, 100] })
  return figure('accuracy', `Accuracy over ${what}, one line per setting.`, spec)
}
