import { type Static, Type } from 'typebox'
import { optionalOrNull } from '../../src/text/fields.ts'
import { Compile } from 'typebox/compile'
import { keptOrMade } from '../../base/at.ts'
import type { Passage } from '../../index/contract.ts'
import { isExact, isObject, parseJson } from '../../base/json.ts'
import { type Dataset, describeProblem, type EvalPassage, type EvalQuestion, ProblemLog } from './question-set.ts'
import { invalidDataset, readItems } from './records.ts'

export interface ReadOptions {
  /** False: the questions have no answer in the corpus, and need none in the file. null: those without an answer in the file. */
  readonly answerable?: boolean | null
  /** Passages kept per question. */
  readonly keepPassages?: number
}

/**
 * Reads a question file of any supported format. Unusable records are skipped, counted and named.
 * @throws dataset_invalid if the file cannot be read or has no usable record
 */
export async function readDataset(file: string, { answerable = true, keepPassages = 100 }: ReadOptions = {}): Promise<Dataset> {
  const seen = new Set<string>()
  const wanted = (problems: ProblemLog) =>
    `no question that can be asked: ${problems.list().map(describeProblem).join('; ') || 'it holds no record'}. Supported: {"question", "answer"} lines, CEPE/FiD/Contriever/DPR JSON with ctxs, TriviaQA's JSON, Hugging Face's records of it as JSON or Parquet, PopQA's TSV.`
  const { items: questions, ...read } = await readItems(file, wanted, (value, at, problems) => {
    const notes: string[] = []
    const question = parseQuestion(value, at, { answerable, keepPassages }, notes)
    if (typeof question === 'string') return question
    // Published datasets contain equal questions about two subjects with the same name: those have distinct ids.
    const identity = question.id === at ? sameQuestion(question.question) : `id ${question.id}`
    if (seen.has(identity)) return 'duplicate question'
    seen.add(identity)
    for (const note of notes) problems.add(note, at, 'kept')
    return question
  })
  return { questions, ...read }
}

/** The valid passages of a file, and those of each title; both in the order of the file. The others are its problems. */
export async function readCorpus(file: string) {
  const { readPassageFile } = await import('../../index/read/read.ts')
  const problems = new ProblemLog()
  const passages: Passage[] = []
  const byTitle = new Map<string, Passage[]>()
  for await (const item of readPassageFile(file)) {
    if ('reason' in item) {
      problems.add(`passage that cannot be used (${item.reason.replaceAll('_', ' ')})`, `line ${item.line}`)
      continue
    }
    passages.push(item.passage)
    keptOrMade(byTitle, item.passage.title, () => []).push(item.passage)
  }
  return { passages, byTitle, problems: problems.list() }
}

/** Normalised key of a question: ignores case, spaces and a final question mark. */
export function sameQuestion(question: string): string {
  return question
    .normalize('NFC')
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/\s*\?\s*$/, '')
    .trim()
}

/** Retrieved passages by question, from a file with `ctxs` or `docs`; the last ones of a question count. */
export async function readPassages(file: string, keepPassages: number) {
  const byQuestion = new Map<string, readonly EvalPassage[]>()
  const { problems } = await readItems(file, 'no question with passages (ctxs or docs).', (value, at, problems) => {
    const notes: string[] = []
    const question = parseQuestion(value, at, { answerable: false, keepPassages }, notes)
    if (typeof question === 'string') return question
    for (const note of notes) problems.add(note, at, 'kept')
    const { passages } = question
    if (passages === undefined) return 'question without passages'
    const key = sameQuestion(question.question)
    if (byQuestion.has(key)) problems.add('question whose earlier passages are not used', at, 'kept')
    byQuestion.set(key, passages)
    return passages
  })
  return { byQuestion, problems }
}

/**
 * Assigns passages to every question, at least `k` of them; those with fewer are skipped, counted and named, so that all k share questions.
 * @throws dataset_invalid if no question has k passages
 */
export function withPassages(dataset: Dataset, byQuestion: ReadonlyMap<string, readonly EvalPassage[]> | undefined, k: number): Dataset {
  const problems = new ProblemLog()
  const questions: EvalQuestion[] = []
  let most = 0
  for (const question of dataset.questions) {
    const passages = byQuestion ? byQuestion.get(sameQuestion(question.question)) : question.passages
    most = Math.max(most, passages?.length ?? 0)
    if (passages === undefined) problems.add('no passages for the question', question.id)
    else if (passages.length < k) problems.add(`fewer than ${k} passages`, question.id)
    else questions.push({ ...question, passages })
  }
  if (questions.length === 0) {
    const message = `No question of ${dataset.file} has ${k} passages (the most is ${most}): lower --k to ${most}, or supply more passages.`
    throw invalidDataset(message)
  }
  return { ...dataset, questions, problems: [...dataset.problems, ...problems.list()] }
}

const MONTHS = 'january|february|march|april|may|june|july|august|september|october|november|december'
const DATE = new RegExp(`\\b(?:1\\d{3}|20\\d{2})\\b|\\b(?:${MONTHS})\\b \\d|\\d (?:${MONTHS})\\b`, 'i')
const NUMBER_WORDS =
  /^(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion)\b/i

const OptionalText = optionalOrNull(Type.String())
/** Years and counts are often written as numbers. */
const AnswerSchema = Type.Union([Type.String(), Type.Number()])
const isAnswers = Compile(Type.Union([AnswerSchema, Type.Array(Type.Union([AnswerSchema, Type.Array(AnswerSchema)]))]))
/** A retrieved passage as CEPE, FiD, Contriever and DPR write it; Contriever's scores are strings. */
const ContextSchema = Type.Object({
  id: Type.Optional(Type.Union([Type.String(), Type.Number(), Type.Null()])),
  title: OptionalText,
  text: Type.String(),
  score: Type.Optional(Type.Union([Type.Number(), Type.String(), Type.Null()])),
})
const isContexts = Compile(Type.Array(ContextSchema))
const isRatedWrong = Compile(Type.Object({ feedback: Type.Object({ correct: Type.Literal(false) }) }))
const isTriviaQa = Compile(
  Type.Object({
    Question: Type.String(),
    QuestionId: Type.Optional(Type.String()),
    Answer: Type.Object({ Value: Type.String(), Aliases: Type.Optional(Type.Array(Type.String())) }),
  }),
)
/** TriviaQA's answers as Hugging Face has them, in JSON and Parquet. */
const isAliased = Compile(Type.Object({ value: OptionalText, aliases: optionalOrNull(Type.Array(Type.String())) }))

/**
 * Parses one record of any supported dataset: NQ-open and other {question, answer} lines, CEPE (`ctxs` or `docs`), FiD, Contriever and DPR
 * (`answers`, `ctxs`), FlashRAG (`golden_answers`), PopQA's rows, TriviaQA's elements and Hugging Face's records of it.
 * @param notes collects the problems that do not skip the question
 * @returns the question, or the problem that skips it
 */
function parseQuestion(
  value: unknown,
  at: string,
  { answerable: wanted, keepPassages }: Required<ReadOptions>,
  notes: string[],
): EvalQuestion | string {
  if (!isObject(value)) return value === undefined ? 'not valid JSON' : 'not an object'
  const record: Record<string, unknown> = isTriviaQa.Check(value)
    ? { id: value.QuestionId, question: value.Question, answers: [value.Answer.Value, ...(value.Answer.Aliases ?? [])] }
    : { ...value }
  const asked = record['question'] ?? record['query']
  const question = typeof asked === 'string' ? asked.trim() : ''
  if (question === '') return 'no question'
  const given = answersOf(record)
  const id = record['id'] ?? record['question_id']
  const { passage_id: gold, entity } = record
  if ([...given, id, gold].some((one) => typeof one === 'number' && !isExact(one))) return 'number that JSON rounds: write it as a string'
  const answers = [...new Set(given.map((answer) => String(answer).trim()))].filter((answer) => answer !== '')
  if (answers.some((answer) => PYTHON_LIST.test(answer))) return 'list of answers that is not JSON'
  const [first] = answers
  // A wrong answer whose right one is not known does not make a question unanswerable.
  const answerable = wanted ?? (first !== undefined || isRatedWrong.Check(value))
  if (answerable && first === undefined) return 'no answer'
  const contexts = listInCell(record['ctxs'] ?? record['docs'])
  if (contexts !== undefined && !isContexts.Check(contexts)) return 'ctxs that are not passages'
  const passages = contexts?.filter(({ text }) => text.trim() !== '')
  if (passages?.length !== contexts?.length) notes.push('passage without text')
  if (passages?.some(({ score }) => !Number.isFinite(Number(score ?? 0)))) notes.push('passage whose score is no number')
  return {
    id: typeof id === 'string' || typeof id === 'number' ? String(id) : at,
    question,
    answers: answerable ? answers : [],
    answerable,
    groups: { ...(answerable && first !== undefined && { answer_type: answerType(first) }), ...groupsOf(record) },
    ...(passages && { passages: passages.slice(0, keepPassages).map(toPassage) }),
    ...((typeof gold === 'string' || typeof gold === 'number') && { goldPassage: String(gold) }),
    ...(typeof entity === 'string' && { goldTitle: entity }),
  }
}

/** A list in a cell as Python prints it, where a table was written without converting it: it would count as one answer. */
const PYTHON_LIST = /^\[\s*(['"]).*\1\s*\]$/s

function answersOf(record: Record<string, unknown>): (string | number)[] {
  const cell = record['possible_answers']
  // PopQA keeps its answers as a JSON list inside a cell, and nothing else.
  const own = typeof cell === 'string' ? parseJson(cell) : cell
  const given = listInCell(record['answer'] ?? record['answers'] ?? record['golden_answers']) ?? own
  if (isAnswers.Check(given)) return [given].flat(2)
  return isAliased.Check(given) ? [given.value ?? [], given.aliases ?? []].flat() : []
}

/** A JSON list in a text, as in the cells of tables, is that list; any other text is itself. */
function listInCell(cell: unknown): unknown {
  if (typeof cell !== 'string') return cell
  const value = parseJson(cell)
  return Array.isArray(value) ? value : cell
}

function groupsOf(record: Record<string, unknown>): Record<string, string> {
  const groups: Record<string, string> = {}
  const relation = record['prop'] ?? record['relation']
  for (const [name, value] of Object.entries({ class: record['class'], manner: record['manner'], kind: record['kind'], relation }))
    if (typeof value === 'string') groups[name] = value
  const views = Number(record['s_pop'] ?? Number.NaN)
  if (Number.isFinite(views)) groups['popularity'] = popularityBucket(views)
  return groups
}

function toPassage({ id, title, text, score }: Static<typeof ContextSchema>, rank: number): EvalPassage {
  const number = score === undefined || score === null || score === '' ? Number.NaN : Number(score)
  return { id: String(id ?? rank + 1), title: title ?? '', text, ...(Number.isFinite(number) && { score: number }) }
}

/** Heuristic type of the first gold answer, for breaking scores down. */
function answerType(answer: string): string {
  if (/^(?:yes|no|true|false)$/i.test(answer.trim())) return 'yes/no'
  if (DATE.test(answer)) return 'date'
  return /\d/.test(answer) || NUMBER_WORDS.test(answer.trim()) ? 'number' : /\p{Lu}/u.test(answer) ? 'name' : 'phrase'
}

/** Popularity bucket of a subject by its monthly Wikipedia page views (PopQA's s_pop), one per decade. */
function popularityBucket(views: number): string {
  const decade = Math.min(5, Math.max(1, Math.floor(Math.log10(Math.max(views, 1)))))
  return decade === 1 ? '< 10^2' : decade === 5 ? '>= 10^5' : `10^${decade} - 10^${decade + 1}`
}
