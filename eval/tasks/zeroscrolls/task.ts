import { at, present } from '../../../base/at.ts'
import { ProblemLog, spread } from '../../datasets/question-set.ts'
import { demoCorpus, questionFile } from '../../datasets/shipped.ts'
import { bestOver, f1 } from '../../metrics/answer.ts'
import { rougeL, rougeN } from '../../metrics/rouge.ts'
import { invalidOption, taskData, type TaskOptions } from '../../run/options.ts'
import { askedInTurn, type PreparedTask, type ReaderClient, type Task, type TaskItem } from '../../run/contract.ts'
import { generateText, promptSizes, reachingEncoder } from '../documents/generate.ts'
import { splitDocument } from '../../../src/text/document/plan-document.ts'
import {
  articlesWithQuestions,
  documentHead,
  questionText,
  readScrolls,
  type ScrollsExample,
  type ScrollsSet,
  scrollsSets,
} from './read.ts'

/** Questions about, and summaries of, long documents: Tables 4 and 13 of the paper. */
export const zeroscrolls: Task = { ...taskData('zeroscrolls'), prepare }

interface Asked extends TaskItem {
  readonly example: ScrollsExample
  readonly seed: number | undefined
}

async function prepare(options: TaskOptions, client: ReaderClient): Promise<PreparedTask> {
  const sets = scrollsSets()
  const name = options.word('set', Object.keys(sets))
  const set = present(sets[name])
  const data = options.text('data')
  if (data === undefined && name !== 'qasper') throw invalidOption(`--data is missing: SCROLLS's file of ${name}.`)
  const read = data === undefined ? await articlesWithQuestions(demoCorpus(), questionFile('test.jsonl')) : await readScrolls(data, set)
  const maxNewTokens = options.integer('maxNewTokens', 1, { otherwise: set.maxNewTokens })
  const wanted = options.integers('encoderTokens')
  const temperature = options.decimal('temperature')
  // With [INST] ... [/INST] around the prompt.
  const template = options.word('chatTemplate', ['none', 'inst']) === 'inst'
  const needed = { maxNewTokens, needsEncoder: wanted.some((tokens) => tokens > 0), without: '--encoder-tokens 0' }
  const { promptTokens: decoderTokens, chunkTokens } = promptSizes(options, needed, client)
  const { tokenizer } = client
  /** Ids of a document with its head, and of the text after it. */
  const idsOf = ({ document, query }: ScrollsExample) => ({
    documentIds: tokenizer.encode(documentHead(set) + document, { bos: true }),
    headIds: template ? tokenizer.encode('[INST] ') : [],
    question: (omitted: boolean) => tokenizer.encode(questionText(set, query, omitted) + (template ? ' [/INST]' : '')),
  })
  const lengthsOf = (example: ScrollsExample) => {
    const { documentIds, headIds, question } = idsOf(example)
    return { document: documentIds.length, question: headIds.length + question(false).length }
  }
  const splitFor = (example: ScrollsExample, encoderTokens: number) => {
    const { documentIds, headIds, question } = idsOf(example)
    const whole = question(false)
    const isCut = encoderTokens === 0 && documentIds.length + whole.length > decoderTokens
    return splitDocument({ documentIds, headIds, questionIds: isCut ? question(true) : whole, decoderTokens, encoderTokens, chunkTokens })
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
  const { reached, idle } = reachingEncoder(wanted, examples, lengthsOf, decoderTokens)
  const settings = settingsOf(reached, template)
  const problems = new ProblemLog()
  for (const { name } of settingsOf(idle, template))
    problems.add(`setting gives the encoder no more of any document than the one before (decoder: ${decoderTokens} tokens)`, name)
  const message = `Every document fits into the decoder's ${decoderTokens} tokens, so that the encoder would read nothing: lower --decoder-tokens, or ask for --encoder-tokens 0.`
  if (settings.length === 0) throw invalidOption(message)
  return {
    ...askedInTurn(items, settings, async ({ example, seed }, { name, encoderTokens }) => {
      const minNewTokens = Math.min(set.minNewTokens, maxNewTokens)
      const sampling = seed === undefined ? undefined : { temperature, topP: 0.95, seed }
      const limits = { maxNewTokens, minNewTokens, stopAtLineEnd: set.stopAtLineEnd, sampling }
      const { output, ...cost } = await generateText(splitFor(example, encoderTokens), limits, client)
      return { setting: name, scores: scored(set, output, example.answers), output, expected: [...example.answers], ...cost }
    }),
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

function scored({ metric }: ScrollsSet, output: string, answers: readonly string[]): Record<string, number> {
  if (metric === 'f1') return { f1: bestOver(f1, at(output.trim().split('\n'), 0), answers) }
  if (metric === 'accuracy')
    return { accuracy: bestOver((given, gold) => (firstLetter(given) === firstLetter(gold) ? 1 : 0), output, answers) }
  return {
    rouge_1: bestOver((given, gold) => rougeN(1, given, gold), output, answers),
    rouge_2: bestOver((given, gold) => rougeN(2, given, gold), output, answers),
    rouge_l: bestOver(rougeL, output, answers),
  }
}

/** The first separate letter A to D, as judged by ZeroSCROLLS; an output without one matches no answer. */
function firstLetter(text: string): string | undefined {
  return /\b([A-D])\b/.exec(text)?.[1]
}
