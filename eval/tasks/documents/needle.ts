import { CodedError } from '../../../base/errors.ts'
import type { ReaderClient } from '../../client/reader.ts'
import type { TaskOptions } from '../../task/options.ts'
import type { Metric, PreparedTask, TaskItem, TaskOption } from '../../task/contract.ts'
import { present } from '../../../base/at.ts'
import { reachingEncoder, type Lengths } from './lengths.ts'
import { chunkTokens, generateText, promptBudget } from './generate.ts'
import { splitDocument } from '../../../src/text/document/split-document.ts'

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
  readonly maxNewTokens: number
  readonly minNewTokens: number
  readonly stopAtLineEnd: boolean
}

/** Metrics of a task with {@link NUMBERS}. */
export const NUMBER_METRICS: readonly Metric[] = [
  { name: 'accuracy', label: 'accuracy (%)', aggregate: 'percent', digits: 1 },
  { name: 'tokens', label: 'prompt tokens', aggregate: 'mean', digits: 0 },
]

/** Generated numeric needles: the first number of the output is the answer. */
export const NUMBERS: Pick<NeedleTask, 'files' | 'metric' | 'judge' | 'stopAtLineEnd'> = {
  files: [],
  metric: 'accuracy',
  judge: (output, expected) => firstNumber(output) === Number(expected),
  stopAtLineEnd: false,
}

/** Options common to needle tasks. */
export const NEEDLE_OPTIONS: readonly TaskOption[] = [
  {
    flags: '--methods <list>',
    description: 'cepe (what the decoder does not hold is encoded), decoder-only (the whole prompt in the decoder)',
    byDefault: 'cepe,decoder-only',
  },
  {
    flags: '--decoder-tokens <number>',
    description: "cepe: tokens of the decoder, new ones included (at most the model's window)",
    byDefault: '2048',
    small: '160',
  },
  { flags: '--chunk-tokens <number>', description: 'cepe: tokens of a chunk', byDefault: '256', small: '128' },
]

/** Asks every item with its whole text in the decoder, and with the beginning of the text in the encoder. */
export function prepareNeedles(task: NeedleTask, options: TaskOptions, client: ReaderClient): PreparedTask {
  const methods = options.words('methods', ['cepe', 'decoder-only'])
  const { window } = client.manifest.dims
  const budget = promptBudget(options.integer('decoderTokens', 1), task.maxNewTokens, window)
  const chunk = chunkTokens(options.integer('chunkTokens', 1), client)
  if (methods.includes('cepe') && client.manifest.graphs.encoder === null)
    throw new CodedError('options_invalid', 'This model has no encoder: ask for --methods decoder-only.')
  const { bos_id: bosId } = client.manifest.tokens
  const idsOf = ({ document, question }: NeedleItem) => ({
    documentIds: [...(bosId === null ? [] : [bosId]), ...client.tokenizer.encode(document)],
    questionIds: client.tokenizer.encode(question),
  })
  const idle = methods.includes('cepe') && reachingEncoder([Infinity], lengths(task.items, idsOf), budget).idle.length > 0
  const settings = idle ? methods.filter((method) => method !== 'cepe') : methods
  const nothing = `every text fits into the ${budget} tokens of the decoder, so that the encoder reads nothing (lower --decoder-tokens)`
  if (settings.length === 0) throw new CodedError('options_invalid', `No setting can be asked: cepe: ${nothing}.`)
  return {
    settings,
    items: task.items,
    files: task.files,
    problems: [...(task.problems ?? []), ...(idle ? [{ kind: nothing, count: 1, places: ['cepe'], effect: 'skipped' as const }] : [])],
    ask: async (item) => {
      const needle = present(task.items.find(({ id }) => id === item.id))
      const { expected } = needle
      const { documentIds, questionIds } = idsOf(needle)
      const results = []
      for (const method of settings) {
        const room = method === 'cepe' ? budget : documentIds.length + questionIds.length
        // A text that exceeds the decoder's window has no score in the decoder-only setting.
        if (room + task.maxNewTokens > window) continue
        const split = splitDocument({ documentIds, questionIds, decoderTokens: room, encoderTokens: Infinity, chunkTokens: chunk })
        const { output, ...cost } = await generateText(split, task, client)
        results.push({
          setting: method,
          scores: { [task.metric]: task.judge(output, expected) ? 1 : 0, tokens: documentIds.length + questionIds.length },
          output,
          expected: [expected],
          ...cost,
        })
      }
      return results
    },
  }
}

function* lengths(
  items: readonly NeedleItem[],
  idsOf: (item: NeedleItem) => { readonly documentIds: readonly number[]; readonly questionIds: readonly number[] },
): Generator<Lengths> {
  for (const item of items) {
    const { documentIds, questionIds } = idsOf(item)
    yield { document: documentIds.length, question: questionIds.length }
  }
}

/** The first run of digits, as a number. */
function firstNumber(text: string): number | undefined {
  const digits = /\d+/.exec(text)?.[0]
  return digits === undefined ? undefined : Number(digits)
}
