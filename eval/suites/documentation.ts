import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { at } from '../../base/at.ts'
import { exists } from '../../base/exists.ts'
import { parseJson } from '../../base/json.ts'
import { sha256OfFile } from '../../base/files.ts'
import { questionFile } from '../datasets/shipped.ts'
import { invalidDataset } from '../datasets/records.ts'
import { bestOver, exactMatch } from '../metrics/answer.ts'
import { heading, table, text } from '../report/blocks.ts'
import { shown } from '../run/summary.ts'
import { estimateShare } from '../statistics/bootstrap.ts'
import { modelProtocol } from '../tasks/open-domain-qa/protocol.ts'
import type { EvalRecord } from '../tasks/open-domain-qa/record.ts'
import type { Suite } from './suite.ts'

const LIST = questionFile('documentation.sha256')
const RECALL_DEPTH = 20
/** Least probability of being right with which the service gives an answer by default. */
const GIVEN_FROM = 0.5

/** Documentation that the shipped models were not trained on: questions that a person wrote from its files, with the defaults. */
export const documentation: Suite = {
  name: 'documentation',
  title: 'Questions about public documentation',
  folder: 'of the files that eval/questions/documentation.sha256 lists',
  isShipped: true,
  check: (folder) => checkListed(folder),
  concurrency: 1,
  ks: ({ k }) => [k],
  measure: async ({ mode, ks, limit, ask }) => {
    const questions = questionFile('documentation.jsonl')
    const files = await listedFiles(LIST)
    const run = await ask('run', {
      dataset: 'documentation',
      questions,
      unanswerable: questionFile('documentation_unanswerable.jsonl'),
      limit,
      protocol: modelProtocol([mode], [...ks], 'hybrid', RECALL_DEPTH),
      dumpPrompts: true,
    })
    const asked = askedQuestions(run.records, await sourcesOf(questions))
    return {
      runs: [run],
      lead: [
        text(
          `${asked.length} questions of a person on ${files.length} files of public documentation, written from the files before any of them was asked. The files are indexed by the command line, and the questions asked through the HTTP API of a service started for it, with its defaults.`,
        ),
        table(['what', 'questions', 'share (95 % interval)'], shareRows(asked, at(ks, 0))),
        heading(2, 'Every question'),
        table(['question', 'answer', 'right answers', '', 'probability', 'rank of the file', 'rank of an answer'], questionRows(asked), 4),
      ],
    }
  },
}

/** One question with its answer in the first setting that was asked. */
type AskedQuestion = ReturnType<typeof askedQuestions>[number]

/** Reads a run that kept its prompts. @param sources the file that a question was written from, by the question's text */
function askedQuestions(records: readonly EvalRecord[], sources: ReadonlyMap<string, string>) {
  return records.flatMap(({ question, answers, answerable, predictions: [prediction], prompts, retrieval }) => {
    if (prediction === undefined) return []
    const { answer, probability_correct: probability } = prediction
    // Ids of passages of documents are `source#hash`.
    const rank = (retrieval?.ids ?? []).findIndex((id) => id.slice(0, Math.max(0, id.lastIndexOf('#'))) === sources.get(question))
    const texts = prompts?.slice(0, 1).flatMap(({ decoder, encoder }) => [...decoder, ...encoder]) ?? []
    return {
      question,
      answers,
      answerable,
      prediction,
      probability,
      right: answerable && bestOver(exactMatch, answer, answers) === 1,
      // Without a calibration no answer is withheld.
      given: answer !== '' && (probability === null || probability >= GIVEN_FROM),
      strangeWords: strangeWords(answer, texts),
      /** Rank of the first passage of the file that the question was written from; undefined where none is, or no file is known. */
      fileRank: rank < 0 ? undefined : rank + 1,
      /** Rank of the first passage whose text holds a right answer. */
      answerRank: retrieval?.answer_ranks[0],
    }
  })
}

const WORD = /[\p{L}\p{N}]+/gu

/** Words of an answer that are no word of any of the texts: a reader that copies has none. */
function strangeWords(answer: string, texts: readonly string[]): string[] {
  const known = new Set(texts.flatMap((text) => text.toLowerCase().match(WORD) ?? []))
  return (answer.match(WORD) ?? []).filter((word) => !known.has(word.toLowerCase()))
}

/** What the questions showed, k passages read: shares of questions with their intervals. */
function shareRows(all: readonly AskedQuestion[], k: number): string[][] {
  const answerable = all.filter((question) => question.answerable)
  const [right, given] = [({ right: is }: AskedQuestion) => is, ({ given: is }: AskedQuestion) => is]
  const hasAnswer = ({ answerRank = Infinity }: AskedQuestion) => answerRank <= k
  const shares: readonly (readonly [what: string, of: readonly AskedQuestion[], holds: (question: AskedQuestion) => boolean])[] = [
    ['exact match', answerable, right],
    [`a passage of the question's file among the ${k} that are retrieved`, answerable, ({ fileRank = Infinity }) => fileRank <= k],
    [`a passage with a right answer among the ${k} that are retrieved`, answerable, hasAnswer],
    ['of those: exact match', answerable.filter(hasAnswer), right],
    [`given by default (probability_correct from ${GIVEN_FROM})`, answerable, given],
    ['of those: exact match', answerable.filter(given), right],
    ['without an answer in the files: given by default', all.filter((question) => !question.answerable), given],
    ['answers with a word that stands nowhere in question and passages', all, ({ strangeWords: words }) => words.length > 0],
  ]
  return shares.map(([what, of, holds]) => {
    const samples = of.map((question) => ({ cluster: question.question, value: Number(holds(question)) }))
    return [what, `${of.filter(holds).length} of ${of.length}`, shown({ digits: 3 }, estimateShare(samples, 0))]
  })
}

/** Every question with its answer. */
function questionRows(all: readonly AskedQuestion[]): string[][] {
  return all.map(({ question, answers, answerable, prediction: { answer }, probability, right, given, fileRank, answerRank }) => {
    const verdict = answerable ? `${right ? 'right' : 'wrong'}${given ? '' : ', withheld'}` : given ? 'given' : 'withheld'
    const ranks = [fileRank, answerRank].map((rank) => (answerable ? String(rank ?? '-') : ''))
    const expected = answerable ? at(answers, 0) : '(not in the files)'
    return [question, answer === '' ? '(none)' : answer, expected, verdict, probability?.toFixed(2) ?? '-', ...ranks]
  })
}

/** Lines of `sha256sum`: hash, two spaces, path. */
async function listedFiles(list: string): Promise<RegExpExecArray[]> {
  return [...(await readFile(list, 'utf8')).matchAll(/^([0-9a-f]{64}) {2}(.+)$/gm)]
}

/**
 * Compares a folder with a list of hashes, as `sha256sum -c` does: figures are of these files and no others.
 * @throws dataset_invalid where one is missing or differs
 */
export async function checkListed(folder: string, list = LIST): Promise<void> {
  const lines = await listedFiles(list)
  const other: string[] = []
  for (const [, hash, name = ''] of lines) {
    const file = path.join(folder, name)
    if (!(await exists(file)) || (await sha256OfFile(file)) !== hash) other.push(name)
  }
  const message = `${other.length} of the ${lines.length} files of ${path.basename(list)} are missing from ${folder} or differ, ${other.slice(0, 3).join(', ')} among them: the questions were written from those.`
  if (other.length > 0) throw invalidDataset(message)
}

/** The file that each question of a question file was written from, by the question's text. */
async function sourcesOf(questions: string): Promise<ReadonlyMap<string, string>> {
  const lines = (await readFile(questions, 'utf8')).split('\n').map(parseJson)
  const schema = Type.Object({ question: Type.String(), source: Type.String() })
  return new Map(lines.flatMap((line) => (Value.Check(schema, line) ? [[line.question.trim(), line.source] as const] : [])))
}
