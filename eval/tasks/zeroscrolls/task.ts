import { at } from '../../../base/at.ts'
import type { ReaderClient } from '../../client/reader.ts'
import { demoCorpus, ITEMS, ProblemLog, questionFile, spread } from '../../datasets/question-set.ts'
import { bestOver, f1 } from '../../metrics/answer.ts'
import { rougeL, rougeN } from '../../metrics/rouge.ts'
import { invalidOption, type TaskOptions } from '../../run/options.ts'
import { askedInTurn, option, type PreparedTask, type SettingAnswer, type Task, type TaskItem } from '../../run/contract.ts'
import { percentages } from '../../run/summary.ts'
import { generateText, promptSizes, reachingEncoder } from '../documents/generate.ts'
import { splitDocument } from '../../../src/text/document/plan-document.ts'
import { articlesWithQuestions, readScrolls, type ScrollsExample } from './read.ts'
import { documentHead, questionText, SET_NAMES, SETS, type ScrollsSet } from './sets.ts'

const METRICS = percentages({ f1: 'F1', rouge_1: 'ROUGE-1', rouge_2: 'ROUGE-2', rouge_l: 'ROUGE-L', accuracy: 'accuracy' })

/** Questions about, and summaries of, long documents: Tables 4 and 13 of the paper. */
export const zeroscrolls: Task = {
  name: 'zeroscrolls',
  version: 4,
  title: 'Questions about long documents (ZeroSCROLLS)',
  description: 'The end of the document stands in the decoder with the question; what comes before it is read by the encoder in chunks.',
  options: [
    option('--data <file>', "SCROLLS's validation file, .jsonl (default: the demo questions over the joined passages of their title)"),
    option('--set <name>', SET_NAMES.join(', '), 'qasper'),
    option(
      '--encoder-tokens <numbers>',
      'tokens of the document in the encoder, a list; 0 is the decoder alone',
      '0,2048,30720',
      '0,64,1024',
    ),
    option('--decoder-tokens <number>', "tokens of the decoder, new ones included (at most the model's window)", '2048', '192'),
    option('--chunk-tokens <number>', 'tokens of a chunk', '256', '64'),
    option('--max-new-tokens <number>', "longest output (default: the set's, 50 or 1,024)", undefined, '16'),
    option('--items <number>', ITEMS, '500', '20'),
    option('--seeds <numbers>', 'seeds where the set samples (gov_report)', '42,43,44', '42'),
    option('--temperature <number>', 'temperature where the set samples', '1'),
    option('--chat-template <name>', 'none, or inst ([INST] ... [/INST] around the prompt: not what the paper did)', 'none'),
  ],
  metrics: METRICS,
  prepare,
  notes: [
    'F1: SQuAD normalisation, best over the answers; where either side is yes, no or noanswer, they must be equal. ROUGE-1, 2 and L: F over Porter stems, best over the references. Accuracy: the first letter A to D of the output.',
    'The prompt is plain text, also for chat models, unless --chat-template asks for the template; such a run is not comparable with the published one.',
    'Prompts that were cut for the decoder alone say that the rest is omitted, as the published evaluation does.',
  ],
  publishedTable: '4',
}

interface Asking {
  readonly set: ScrollsSet
  /** With [INST] ... [/INST] around the prompt. */
  readonly template: boolean
  readonly maxNewTokens: number
  readonly temperature: number
  /** Tokens of the prompt, and of a chunk in the encoder. */
  readonly promptTokens: number
  readonly chunkTokens: number
}

type Setting = ReturnType<typeof settingsOf>[number]

interface Asked extends TaskItem {
  readonly example: ScrollsExample
  readonly seed: number | undefined
}

async function prepare(options: TaskOptions, client: ReaderClient): Promise<PreparedTask> {
  const name = options.word('set', SET_NAMES)
  const set: ScrollsSet = SETS[name]
  const data = options.text('data')
  if (data === undefined && name !== 'qasper') throw invalidOption(`--data is missing: SCROLLS's file of ${name}.`)
  const read = data === undefined ? await articlesWithQuestions(demoCorpus(), questionFile('test.jsonl')) : await readScrolls(data, set)
  const maxNewTokens = options.integer('maxNewTokens', 1, { otherwise: set.maxNewTokens })
  const wanted = options.integers('encoderTokens')
  const asking: Asking = {
    ...{ set, maxNewTokens, temperature: options.decimal('temperature') },
    template: options.word('chatTemplate', ['none', 'inst']) === 'inst',
    ...promptSizes(options, { maxNewTokens, needsEncoder: wanted.some((tokens) => tokens > 0), without: '--encoder-tokens 0' }, client),
  }
  const seeds = set.sampling ? options.integers('seeds') : [undefined]
  const most = options.integer('items', 1)
  const examples = data === undefined ? spread(read.items, most) : read.items.slice(0, most)
  const items = examples.flatMap((example) =>
    seeds.map((seed): Asked => {
      const id = seed === undefined ? example.id : `${seed}: ${example.id}`
      return { id, groups: {}, cluster: example.rowOf ?? example.id, example, seed }
    }),
  )
  const { reached, idle } = reachingEncoder(wanted, examples, (example) => lengthsOf(example, asking, client), asking.promptTokens)
  const settings = settingsOf(reached, asking.template)
  const problems = new ProblemLog()
  for (const { name } of settingsOf(idle, asking.template))
    problems.add(`setting gives the encoder no more of any document than the one before (decoder: ${asking.promptTokens} tokens)`, name)
  if (settings.length === 0)
    throw invalidOption(
      `Every document fits into the decoder's ${asking.promptTokens} tokens, so that the encoder would read nothing: lower --decoder-tokens, or ask for --encoder-tokens 0.`,
    )
  return {
    ...askedInTurn(items, settings, (item, setting) => askExample(item, setting, asking, client)),
    files: read.files,
    problems: problems.list(),
  }
}

function settingsOf(encoderTokens: readonly number[], template: boolean) {
  return encoderTokens.map((tokens) => ({
    name: `${tokens === 0 ? 'decoder-only' : 'cepe'}, ${tokens} tokens in the encoder${template ? ' (chat template)' : ''}`,
    encoderTokens: tokens,
  }))
}

async function askExample({ example, seed }: Asked, setting: Setting, asking: Asking, client: ReaderClient): Promise<SettingAnswer> {
  const { set, maxNewTokens, temperature } = asking
  const minNewTokens = Math.min(set.minNewTokens, maxNewTokens)
  const sampling = seed === undefined ? undefined : { temperature, topP: 0.95, seed }
  const split = splitFor(example, asking, setting.encoderTokens, client)
  const { output, ...cost } = await generateText(split, { maxNewTokens, minNewTokens, stopAtLineEnd: set.stopAtLineEnd, sampling }, client)
  return { setting: setting.name, scores: scored(set, output, example.answers), output, expected: [...example.answers], ...cost }
}

/** Ids of a document with its head, and of the text after it. */
function idsOf({ document, query }: ScrollsExample, { set, template }: Asking, { tokenizer }: ReaderClient) {
  return {
    documentIds: tokenizer.encode(documentHead(set) + document, { bos: true }),
    headIds: template ? tokenizer.encode('[INST] ') : [],
    question: (omitted: boolean) => tokenizer.encode(questionText(set, query, omitted) + (template ? ' [/INST]' : '')),
  }
}

function lengthsOf(example: ScrollsExample, asking: Asking, client: ReaderClient) {
  const { documentIds, headIds, question } = idsOf(example, asking, client)
  return { document: documentIds.length, question: headIds.length + question(false).length }
}

function splitFor(example: ScrollsExample, asking: Asking, encoderTokens: number, client: ReaderClient) {
  const { promptTokens: decoderTokens, chunkTokens } = asking
  const { documentIds, headIds, question } = idsOf(example, asking, client)
  const whole = question(false)
  const isCut = encoderTokens === 0 && documentIds.length + whole.length > decoderTokens
  return splitDocument({ documentIds, headIds, questionIds: isCut ? question(true) : whole, decoderTokens, encoderTokens, chunkTokens })
}

function scored({ metric }: ScrollsSet, output: string, answers: readonly string[]): Record<string, number> {
  switch (metric) {
    case 'f1':
      return { f1: bestOver(f1, at(output.trim().split('\n'), 0), answers) }
    case 'rouge_l':
      return {
        rouge_1: bestOver((given, gold) => rougeN(1, given, gold), output, answers),
        rouge_2: bestOver((given, gold) => rougeN(2, given, gold), output, answers),
        rouge_l: bestOver(rougeL, output, answers),
      }
    case 'accuracy':
      return { accuracy: bestOver((given, gold) => (firstLetter(given) === firstLetter(gold) ? 1 : 0), output, answers) }
  }
}

/** The first separate letter A to D, as judged by ZeroSCROLLS; an output without one matches no answer. */
function firstLetter(text: string): string | undefined {
  return /\b([A-D])\b/.exec(text)?.[1]
}
