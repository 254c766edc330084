import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { at, sum } from '../../../base/at.ts'
import { seededRandom, type Random } from '../../../base/random.ts'
import { type EvalQuestion, ProblemLog } from '../../datasets/question-set.ts'
import { demoCorpus, questionFile } from '../../datasets/shipped.ts'
import { readCorpus, readDataset } from '../../datasets/read.ts'
import { invalidDataset, namedFile, readItems } from '../../datasets/records.ts'
import type { Passage } from '../../../index/contract.ts'
import { taskData, type TaskOptions } from '../../run/options.ts'
import type { PreparedTask, ReaderClient, Task } from '../../run/contract.ts'
import { VICUNA } from '../documents/generate.ts'
import { prepareNeedles, type NeedleItem, type NeedleTask } from '../documents/needle.ts'

const KINDS = ['altered', 'free-form'] as const
const POSITIONS = ['start', 'anywhere', 'end'] as const
const QUESTION_POSITIONS = ['end', 'start'] as const

/** Free-form and altered-numeric questions by length and position, as Giraffe's WikiQA. */
export const altqa: Task = { ...taskData('altqa'), prepare }

async function prepare(options: TaskOptions, client: ReaderClient): Promise<PreparedTask> {
  const data = options.text('data')
  const read = data === undefined ? await generated(options) : await published(data, options.integer('items', 1))
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
  const passagesFile = options.text('passages') ?? demoCorpus()
  const dataset = await readDataset(options.text('questions') ?? questionFile('test.jsonl'))
  const { passages: paragraphs, problems } = await readCorpus(passagesFile)
  const seed = options.integer('seed')
  const most = options.integer('items', 1)
  const kinds = options.words('kinds', KINDS)
  const lengths = options.integers('characters', 1)
  const left = new ProblemLog()
  const found = dataset.questions.flatMap((question) => {
    const gold = goldParagraph(question, paragraphs)
    if (!gold) left.add('question whose passage with its answer is not known', question.id)
    return gold ? [{ question, gold }] : []
  })
  const held = sum(paragraphs.map(({ text }) => text.length))
  for (const characters of lengths)
    if (characters > held) left.add(`documents are shorter, since all passages have ${held} characters`, `${characters} characters`, 'kept')
  const items = kinds.flatMap((kind) =>
    found
      .filter(({ question }) => kind === 'free-form' || /^\d+$/.test(at(question.answers, 0)))
      .slice(0, most)
      .flatMap(({ question, gold }) => lengths.flatMap((characters) => rows({ question, gold }, paragraphs, { kind, characters, seed }))),
  )
  const message = `No question of ${dataset.file} can be asked: wanted are answers in the passage that passage_id or entity names (numbers, for altered).`
  if (items.length === 0) throw invalidDataset(message)
  return { items, files: [{ ...(await namedFile(passagesFile)), problems }, dataset], problems: left.list() }
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
  const change = (text: string): string =>
    kind === 'altered' ? text.replace(new RegExp(`(?<![\\d.,])${answer}(?![\\d]|[.,]\\d)`, 'g'), other) : text
  // The article first, then the following passages of the file, so that a short article also gives a long document.
  const from = paragraphs.indexOf(gold)
  const others = [...paragraphs.filter((p) => p.title === gold.title), ...paragraphs.slice(from + 1), ...paragraphs.slice(0, from)]
  const texts = [...new Set(others.filter((p) => p !== gold))].map(({ text }) => change(text)).filter((text) => !text.includes(other))
  return POSITIONS.flatMap((position) =>
    QUESTION_POSITIONS.map((where): NeedleItem => {
      const document = insertParagraph(change(gold.text), texts, { characters, position }, { seed, item: question.id })
      const atEnd = where === 'end'
      return {
        id: `${kind}, ${question.id}, ${characters} characters, answer ${position}, question at the ${where}`,
        cluster: question.id,
        groups: { kind, characters: String(characters), answer_place: position, question_place: where },
        document: `${VICUNA.before}${atEnd ? '' : `${question.question}\n`}${document}\n`,
        question: `${atEnd ? question.question : ''}${VICUNA.after}`,
        expected: other,
      }
    }),
  )
}

/** Largest change of a year, which remains a year. */
const YEAR_SPAN = 10

/** Another number with as many digits; for a year another one near it. A one-digit number has nine alternatives. */
function otherNumber(number: string, random: Random): string {
  const value = Number(number)
  const year = /^\d{4}$/.test(number) && value >= 1000 && value <= 2100
  for (;;) {
    const other = year
      ? String(value - YEAR_SPAN + Math.floor(random() * (2 * YEAR_SPAN + 1)))
      : Array.from(number, (_, i) => (i === 0 && number.length > 1 ? 1 + Math.floor(random() * 9) : Math.floor(random() * 10))).join('')
    if (other !== number) return other
  }
}

/** A document of about `characters`: the gold paragraph in the first tenth, anywhere, or in the last; the others in their order. */
function insertParagraph(
  gold: string,
  others: readonly string[],
  { characters, position }: { readonly characters: number; readonly position: (typeof POSITIONS)[number] },
  { seed, item }: { readonly seed: number; readonly item: string },
): string {
  const chosen: string[] = []
  let size = gold.length
  for (const paragraph of others) {
    if (size + paragraph.length > characters) break
    chosen.push(paragraph)
    size += paragraph.length
  }
  const random = seededRandom('place', seed, item, position)
  const tenth = Math.floor(chosen.length / 10)
  const at = {
    start: Math.floor(random() * (tenth + 1)),
    anywhere: Math.floor(random() * (chosen.length + 1)),
    end: chosen.length - Math.floor(random() * (tenth + 1)),
  }[position]
  return [...chosen.slice(0, at), gold, ...chosen.slice(at)].join('\n')
}

/** A row of Giraffe's WikiQA: the prompt, document and question together, and the answer. */
const isRow = Compile(Type.Object({ conversations: Type.Array(Type.Object({ value: Type.String() }), { minItems: 2 }) }))

/** Rows per question: three positions of the answer, each with the question at the end (even rows) and at the start (odd ones). */
const ROWS = 6

/**
 * Reads the `conversations` records of Giraffe's WikiQA, the rows of the first `most` questions. Positions of answer and question follow
 * from the row's index, as in Giraffe's own evaluation.
 * @throws dataset_invalid
 */
async function published(file: string, most: number): Promise<Pick<NeedleTask, 'items' | 'files'>> {
  const wanted = 'nothing to ask: wanted are Giraffe\'s {"conversations": [{"value"}, {"value"}]} records.'
  const read = await readItems(file, wanted, (value, _at, _problems, index) => {
    if (index >= most * ROWS) return undefined
    if (!isRow.Check(value)) return 'no conversations with a prompt and an answer'
    return toItem(at(value.conversations, 0).value, at(value.conversations, 1).value, index)
  })
  return { ...read, files: [read] }
}

function toItem(prompt: string, answer: string, index: number): NeedleItem {
  const question = `question ${Math.floor(index / ROWS) + 1}`
  const position = at(POSITIONS, Math.floor((index % ROWS) / 2))
  const atEnd = index % 2 === 0
  // The last line is the question, which the decoder always reads in full.
  const cut = atEnd ? prompt.trimEnd().lastIndexOf('\n') + 1 : prompt.length
  return {
    id: `${question}, answer ${position}, question at the ${atEnd ? 'end' : 'start'}`,
    cluster: question,
    groups: { answer_place: position, question_place: atEnd ? 'end' : 'start' },
    document: VICUNA.before + prompt.slice(0, cut),
    question: prompt.slice(cut) + VICUNA.after,
    expected: answer.trim(),
  }
}
