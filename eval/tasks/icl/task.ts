import path from 'node:path'
import { at, present } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'
import { packageRoot } from '../../../src/config.ts'
import type { ReaderClient } from '../../client/reader.ts'
import { ProblemLog } from '../../datasets/problems.ts'
import type { TaskOptions } from '../../task/options.ts'
import type { Metric, PreparedTask, Task, TaskItem } from '../../task/contract.ts'
import { balancedDemonstrations, type Labelled } from './demonstrations.ts'
import { readLabelled } from './read.ts'
import { optionSums, predictions } from './score.ts'

function accuracy(name: string, label: string): Metric {
  return { name, label, aggregate: 'percent', digits: 1 }
}

interface Asked extends TaskItem {
  readonly test: Labelled
  readonly seed: number
}

function questions(name: string): string {
  return path.join(packageRoot(), 'eval', 'questions', name)
}

/** In-context classification with demonstrations in the encoder: Table 3 of the paper. */
export const icl: Task = {
  name: 'icl',
  version: 1,
  title: 'In-context classification',
  description: 'Accuracy of the likeliest label, with further demonstrations in the encoder, each alone.',
  options: [
    { flags: '--test <file>', description: 'labelled texts, .csv, .tsv or .jsonl (default: the demo questions)' },
    { flags: '--train <file>', description: 'where demonstrations are drawn from (default: the demo training questions)' },
    { flags: '--text-field <name>', description: 'field of the text', byDefault: 'question' },
    { flags: '--label-field <name>', description: 'field of the label', byDefault: 'kind' },
    {
      flags: '--text-name <word>',
      description: 'what the prompt calls the text (Sentence, Review, Article, Question ...)',
      byDefault: 'Question',
    },
    { flags: '--label-name <word>', description: 'what it calls the label (Sentiment, Topic, Type, Intent ...)', byDefault: 'Type' },
    { flags: '--decoder-shots <number>', description: 'demonstrations in the decoder', byDefault: '2' },
    { flags: '--encoder-shots <numbers>', description: 'further demonstrations in the encoder, a list', byDefault: '0,18,38' },
    {
      flags: '--oracle <number>',
      description: 'demonstrations of a setting that has all of them in the decoder; 0 for none',
      byDefault: '40',
      small: '10',
    },
    { flags: '--context-tokens <number>', description: 'tokens of a demonstration in the encoder, cut on the left', byDefault: '256' },
    { flags: '--items <number>', description: 'test items, from the first', byDefault: '250', small: '20' },
    { flags: '--seeds <numbers>', description: 'seeds of the demonstrations, a list', byDefault: '42,43,44', small: '42' },
  ],
  metrics: [
    accuracy('sum', 'accuracy (%)'),
    accuracy('mean', 'by length (%)'),
    accuracy('calibrated', 'calibrated (%)'),
    accuracy('calibrated_mean', 'calibrated, by length (%)'),
  ],
  prepare,
  notes: [
    'Score of a label: log-probability of its tokens after the prompt (accuracy); divided by their number (by length); less their log-probability after BOS alone, without contexts (calibrated); both. The paper chooses per data set (its Table 8).',
    'Labels are tokenised on their own, as " label", as the published evaluation does.',
    'Demonstrations are drawn for every test item, balanced over the classes; a test item is never its own demonstration.',
  ],
  publishedTable: '3',
}

async function prepare(options: TaskOptions, client: ReaderClient): Promise<PreparedTask> {
  const fields = [present(options.text('textField')), present(options.text('labelField'))] as const
  const test = await readLabelled(options.text('test') ?? questions('test.jsonl'), ...fields)
  const train = await readLabelled(options.text('train') ?? questions('train.jsonl'), ...fields)
  const problems = new ProblemLog()
  const labels = [...new Set(train.examples.map(({ label }) => label))].sort()
  if (labels.length < 2) throw new CodedError('dataset_invalid', `${train.file} has ${labels.length} label: two are needed to choose from.`)
  const tested = new Set(test.examples.map(({ text }) => text))
  const pool = train.examples.filter(({ id, text }) => {
    if (tested.has(text)) problems.add('training example that is a test item', id)
    return !tested.has(text)
  })
  const known = test.examples.filter(({ id, label }) => {
    if (!labels.includes(label)) problems.add('label that the training file does not have', id)
    return labels.includes(label)
  })
  const asked = known.slice(0, options.integer('items', 1))
  const items = options
    .integers('seeds')
    .flatMap((seed): Asked[] => asked.map((example) => ({ id: `${seed}: ${example.id}`, groups: {}, test: example, seed })))
  const shots = { decoder: options.integer('decoderShots'), oracle: options.integer('oracle') }
  const settings = [
    ...options
      .integers('encoderShots')
      .map((encoder) => ({ name: `${shots.decoder} + ${encoder} in the encoder`, decoder: shots.decoder, encoder })),
    ...(shots.oracle > 0 ? [{ name: `${shots.oracle} in the decoder`, decoder: shots.oracle, encoder: 0 }] : []),
  ]
  const { bos_id: bosId } = client.manifest.tokens
  const optionIds = labels.map((label) => client.tokenizer.encode(` ${label}`))
  const calibration = bosId === null ? labels.map(() => 0) : await optionSums([bosId], [], optionIds, client)
  const contextTokens = Math.min(options.integer('contextTokens', 1), client.manifest.dims.encoder_window)
  const [textName, labelName] = [present(options.text('textName')), present(options.text('labelName'))]
  const render = ({ text, label }: Labelled): string => `${textName}: ${text}\n${labelName}: ${label}`
  return {
    settings: settings.map(({ name }) => name),
    items,
    files: [test, train].map(({ file, sha256 }) => ({ file, sha256 })),
    problems: [...test.problems, ...train.problems, ...problems.list()],
    ask: async (item) => {
      const { test: example, seed } = present(items.find(({ id }) => id === item.id))
      const results = []
      for (const { name, decoder, encoder } of settings) {
        const drawn = balancedDemonstrations(pool, labels, decoder + encoder, { seed, item: example.id })
        const prompt = [...drawn.slice(0, decoder).map(render), `${textName}: ${example.text}\n${labelName}:`].join('\n\n')
        const promptIds = client.tokenizer.encode(prompt, { bos: true })
        const contextIds = drawn.slice(decoder).map((demonstration) => client.tokenizer.encode(render(demonstration)).slice(-contextTokens))
        const started = performance.now()
        const sums = await optionSums(promptIds, contextIds, optionIds, client)
        const chosen = predictions({ sums, calibration, lengths: optionIds.map((ids) => ids.length) })
        const right = (index: number): number => (at(labels, index) === example.label ? 1 : 0)
        results.push({
          setting: name,
          scores: Object.fromEntries(Object.entries(chosen).map(([scoring, index]) => [scoring, right(index)])),
          output: at(labels, chosen.sum),
          expected: [example.label],
          tokens: { decoder: promptIds.length, encoder: contextIds.flat().length, generated: 0 },
          ms: performance.now() - started,
        })
      }
      return results
    },
  }
}
