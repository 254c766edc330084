import { type Static, Type } from 'typebox'
import { isObject } from '../../../base/json.ts'
import { ProblemLog } from '../../datasets/question-set.ts'
import { invalidDataset, namedFile, readItems } from '../../datasets/records.ts'
import { readCorpus, readDataset } from '../../datasets/read.ts'
import { readShipped } from '../../datasets/shipped.ts'

const SetSchema = Type.Object({
  kind: Type.String({ description: 'Noun for the document.' }),
  instruction: Type.String({ description: "As in the published evaluation; GovReport's is worded and spaced unlike the others." }),
  query: Type.Union([Type.Enum(['question', 'choices', 'query']), Type.Null()], { description: 'Kind of query besides the document.' }),
  metric: Type.Enum(['f1', 'rouge_l', 'accuracy']),
  maxNewTokens: Type.Integer(),
  minNewTokens: Type.Integer(),
  stopAtLineEnd: Type.Boolean({ description: 'A line end ends short answers, but not summaries.' }),
  sampling: Type.Boolean(),
  eachRow: Type.Optional(
    Type.Boolean({ description: 'Rows of one id are scored separately; otherwise they are references of one question.' }),
  ),
})
export type ScrollsSet = Static<typeof SetSchema>

/** The data sets by name, with their prompts. */
export function scrollsSets(): Readonly<Record<string, ScrollsSet>> {
  return readShipped('eval/tasks/zeroscrolls/sets.json', Type.Record(Type.String(), SetSchema))
}

export function documentHead({ kind }: ScrollsSet): string {
  return `${kind}:\n`
}

/** Text after the document: a blank line (or the truncation notice of a decoder alone), the instruction, the query. */
export function questionText({ instruction, query, kind }: ScrollsSet, asked: string, omitted: boolean): string {
  const join = omitted ? `... [The rest of the ${kind.toLowerCase()} is omitted]\n\n` : '\n\n'
  const questions = {
    question: `Question:\n${asked}\n\nAnswer:\n`,
    choices: `Question and Possible Answers:\n${asked}\n\nAnswer:`,
    query: `Query:\n${asked}\n\nAnswer:\n`,
  }
  return `${join}${instruction}${query === null ? 'Summary:\n' : questions[query]}`
}

export interface ScrollsExample {
  readonly id: string
  /** Id of its first row, if rows of a question are scored separately. */
  readonly rowOf?: string
  readonly document: string
  readonly query: string
  readonly answers: readonly string[]
}

/**
 * Reads SCROLLS's JSON lines ({id, input, output}: optional query, blank line, document; rows of one id are references, or scored
 * separately) or {document, question, answers}, each a text or {text}.
 * @throws dataset_invalid
 */
export async function readScrolls(file: string, set: ScrollsSet) {
  const wanted = 'nothing to ask: wanted are SCROLLS\'s {"id", "input", "output"} lines or {"document", "question", "answers"}.'
  const { items: rows, ...read } = await readItems(file, wanted, (value, at) => understood(value, at, set))
  const examples = new Map<string, ScrollsExample>()
  const rowsOf = new Map<string, number>()
  for (const row of rows) {
    const count = (rowsOf.get(row.id) ?? 0) + 1
    rowsOf.set(row.id, count)
    const known = examples.get(row.id)
    if (known === undefined) examples.set(row.id, row)
    else if (set.eachRow === true) examples.set(`${row.id}, row ${count}`, { ...row, id: `${row.id}, row ${count}`, rowOf: row.id })
    else examples.set(row.id, { ...known, answers: [...known.answers, ...row.answers] })
  }
  return { items: [...examples.values()], files: [read] }
}

function understood(record: unknown, at: string, set: ScrollsSet): ScrollsExample | string {
  if (!isObject(record)) return 'not an object'
  const text = (name: string): string => textOf(record[name]) ?? ''
  const id = typeof record['id'] === 'string' ? record['id'] : at
  const outputs = record['answers'] ?? record['output']
  const answers = (Array.isArray(outputs) ? outputs : [outputs]).flatMap((answer) => textOf(answer) || [])
  const input = text('input')
  const [query, document] = input === '' ? [text('question'), text('document')] : divided(input, set)
  if (document.trim() === '') return 'no document'
  if (set.query !== null && query.trim() === '') return 'no query'
  if (answers.length === 0) return 'no answer'
  if (set.query !== 'choices') return { id, document, query, answers }
  const letters = answers.flatMap((answer) => letterOf(answer, query) ?? [])
  return letters.length === 0 ? 'no answer that is one of the choices' : { id, document, query, answers: letters }
}

/** A text, possibly wrapped as {text} in NarrativeQA's records. */
function textOf(value: unknown): string | undefined {
  const text = isObject(value) ? value['text'] : value
  return typeof text === 'string' ? text : undefined
}

/** Splits SCROLLS's input: the query, a blank line, the document; choices precede that line. */
function divided(input: string, set: ScrollsSet): [query: string, document: string] {
  if (set.query === null) return ['', input]
  const from = set.query === 'choices' ? input.indexOf('(D)') : 0
  const cut = from < 0 ? -1 : input.indexOf('\n\n', from)
  if (cut < 0) return ['', input]
  const query = input.slice(0, cut)
  return [set.query === 'choices' ? query.replace(/\s*\n\s*/g, '\n').replace('\n(A)', '\n\n(A)') : query, input.slice(cut + 2)]
}

/** The letter of an answer given as a letter or as the text of its choice. */
function letterOf(answer: string, choices: string): string | undefined {
  if (/^\(?[A-D]\)?$/.test(answer.trim())) return answer.replace(/[^A-D]/g, '')
  return choices.split('\n').flatMap((line) => {
    const [, letter, text] = /^\(([A-D])\)\s*(.*)$/.exec(line.trim()) ?? []
    return letter !== undefined && text?.trim() === answer.trim() ? [letter] : []
  })[0]
}

/** Questions with their articles: all passages of the title of the question or of its passage. */
export async function articlesWithQuestions(passages: string, questions: string) {
  const corpus = await readCorpus(passages)
  const titleOf = new Map(corpus.passages.map(({ id, title }) => [id, title]))
  const dataset = await readDataset(questions)
  const problems = new ProblemLog()
  const items = dataset.questions.flatMap(({ id, question, answers, goldPassage, goldTitle }): ScrollsExample[] => {
    const title =
      goldPassage === undefined
        ? [...corpus.byTitle.keys()].find((known) => known.toLowerCase() === goldTitle?.toLowerCase())
        : titleOf.get(goldPassage)
    const article = title === undefined ? undefined : corpus.byTitle.get(title)
    if (article === undefined) problems.add('no article for the question', id)
    return article ? [{ id, document: article.map(({ text }) => text).join('\n'), query: question, answers }] : []
  })
  if (items.length === 0) throw invalidDataset(`No question of ${questions} has an article in ${passages}.`)
  const articles = { ...(await namedFile(passages)), problems: corpus.problems }
  return { items, files: [articles, { ...dataset, problems: [...dataset.problems, ...problems.list()] }] }
}
