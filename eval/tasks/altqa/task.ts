import { at, present } from '../../../base/at.ts'
import { seededRandom } from '../../../base/random.ts'
import { CodedError } from '../../../base/errors.ts'
import type { ReaderClient } from '../../client/reader.ts'
import type { EvalQuestion } from '../../datasets/question-set.ts'
import type { Passage } from '../../../index/contract.ts'
import type { TaskOptions } from '../../run/options.ts'
import { option, type Metric, type PreparedTask, type Task } from '../../run/contract.ts'
import { VICUNA } from '../documents/generate.ts'
import { NEEDLE_OPTIONS, prepareNeedles, type NeedleItem, type NeedleTask } from '../documents/needle.ts'
import { demoCorpus, questionFile } from '../../datasets/shipped.ts'
import { otherNumber, insertParagraph, POSITIONS, replaceNumber } from './generate.ts'

const METRICS: readonly Metric[] = [
  { name: 'presence', label: 'presence (%)', aggregate: 'percent', digits: 1 },
  { name: 'tokens', label: 'prompt tokens', aggregate: 'mean', digits: 0 },
]
const KINDS = ['altered', 'free-form'] as const
const QUESTION_POSITIONS = ['question at the end', 'question at the start'] as const

/** Free-form and altered-numeric questions by length and position, as Giraffe's WikiQA. */
export const altqa: Task = {
  name: 'altqa',
  version: 1,
  title: 'Altered-numeric and free-form questions',
  description:
    'Questions over documents of a given length with the answer in the first tenth, anywhere, or in the last tenth; altered numbers cannot be known by heart.',
  options: [
    option('--data <file>', "published rows instead of generated ones: Giraffe's WikiQA (conversations)"),
    option('--passages <file>', 'passages, .tsv or .jsonl (default: the demo corpus)'),
    option('--questions <file>', 'questions with passage_id, or with entity naming a title (default: the demo test questions)'),
    option('--kinds <list>', 'altered (numeric answers, replaced everywhere), free-form', 'altered,free-form'),
    option('--characters <numbers>', 'length of the document, a list', '8000,16000,32000', '1500,4000'),
    option('--items <number>', 'questions per kind', '100', '3'),
    option('--seed <number>', 'of numbers and positions', '0'),
    ...NEEDLE_OPTIONS,
    option('--max-new-tokens <number>', 'longest output', '50', '12'),
  ],
  metrics: METRICS,
  prepare,
  notes: [
    'Presence: the output holds the answer as written, with its case.',
    'Altered: a year becomes another within ten, another number a random one of as many digits, wherever it stands as a token.',
    'Six rows per question and length: three positions of the answer, each with the question at the end and at the start.',
  ],
}

async function prepare(options: TaskOptions, client: ReaderClient): Promise<PreparedTask> {
  const data = options.text('data')
  const read =
    data === undefined ? await generated(options) : await (await import('./read.ts')).readConversations(data, options.integer('items', 1))
  const task: NeedleTask = {
    ...read,
    metric: 'presence',
    judge: (output, expected) => output.includes(expected.trim()),
    // Published rows are evaluated as by Giraffe: all new tokens count, including line ends.
    stopAtLineEnd: data === undefined,
  }
  return prepareNeedles(task, options, client)
}

/** Rows generated from passages and their questions. @throws dataset_invalid */
async function generated(options: TaskOptions): Promise<Pick<NeedleTask, 'items' | 'files' | 'problems'>> {
  const [{ readCorpus, readDataset }, { namedFile }] = await Promise.all([
    import('../../datasets/read.ts'),
    import('../../datasets/records.ts'),
  ])
  const passagesFile = options.text('passages') ?? demoCorpus()
  const dataset = await readDataset(options.text('questions') ?? questionFile('test.jsonl'))
  const { passages: paragraphs } = await readCorpus(passagesFile)
  const seed = options.integer('seed')
  const most = options.integer('items', 1)
  const kinds = options.words('kinds', KINDS)
  const lengths = options.integers('characters', 1)
  const found = dataset.questions.flatMap((question) => {
    const gold = goldParagraph(question, paragraphs)
    return gold ? [{ question, gold }] : []
  })
  const items = kinds.flatMap((kind) =>
    found
      .filter(({ question }) => kind === 'free-form' || /^\d+$/.test(at(question.answers, 0)))
      .slice(0, most)
      .flatMap(({ question, gold }) => lengths.flatMap((characters) => rows({ question, gold }, paragraphs, { kind, characters, seed }))),
  )
  if (items.length === 0)
    throw new CodedError(
      'dataset_invalid',
      `No question of ${dataset.file} can be asked: wanted are answers in the passage that passage_id or entity names (numbers, for altered).`,
    )
  const without = dataset.questions.length - found.length
  const unknown = { kind: 'question whose passage with its answer is not known', count: without, places: [], effect: 'skipped' as const }
  return {
    items,
    files: [await namedFile(passagesFile), { file: dataset.file, sha256: dataset.sha256 }],
    problems: [...dataset.problems, ...(without > 0 ? [unknown] : [])],
  }
}

/** The passage of the question, with its first answer in it. */
function goldParagraph({ goldPassage, goldTitle, answers }: EvalQuestion, paragraphs: readonly Passage[]): Passage | undefined {
  const entity = goldTitle?.toLowerCase()
  return paragraphs.find(
    ({ id, title, text }) =>
      (goldPassage === undefined ? title.toLowerCase() === entity : id === goldPassage) && text.includes(at(answers, 0)),
  )
}

function rows(
  { question, gold }: { readonly question: EvalQuestion; readonly gold: Passage },
  paragraphs: readonly Passage[],
  { kind, characters, seed }: { readonly kind: (typeof KINDS)[number]; readonly characters: number; readonly seed: number },
): NeedleItem[] {
  const answer = at(question.answers, 0)
  const other = kind === 'altered' ? otherNumber(answer, seededRandom('altered', seed, question.id)) : answer
  const change = (text: string): string => (kind === 'altered' ? replaceNumber(text, answer, other) : text)
  // The article first, then the following passages of the file, so that a short article also gives a long document.
  const from = paragraphs.indexOf(gold)
  const others = [
    ...paragraphs.filter((p) => p !== gold && p.title === gold.title),
    ...paragraphs.slice(from + 1),
    ...paragraphs.slice(0, from),
  ]
  const texts = [...new Set(others.filter((p) => p !== gold))].map(({ text }) => change(text)).filter((text) => !text.includes(other))
  return POSITIONS.flatMap((position) =>
    QUESTION_POSITIONS.map((where): NeedleItem => {
      const document = insertParagraph(change(gold.text), texts, { characters, position }, { seed, item: question.id })
      const atEnd = where === QUESTION_POSITIONS[0]
      return {
        id: `${kind}, ${question.id}, ${characters} characters, answer ${position}, ${where}`,
        cluster: question.id,
        groups: { kind, characters: String(characters), answer_place: position, question_place: present(where.split(' ').at(-1)) },
        document: `${VICUNA.before}${atEnd ? '' : `${question.question}\n`}${document}\n`,
        question: `${atEnd ? question.question : ''}${VICUNA.after}`,
        expected: other,
      }
    }),
  )
}
