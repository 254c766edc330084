import path from 'node:path'
import { CodedError } from '../../base/errors.ts'
import { describeProblem, ProblemLog } from './problems.ts'
import { parseQuestion } from './question.ts'
import { fileHash, readRecords } from './records.ts'
import type { Dataset, EvalPassage, EvalQuestion } from './question-set.ts'

export interface ReadOptions {
  /** False: the questions have no answer in the corpus, and need none in the file. */
  readonly answerable?: boolean
  /** Passages kept per question. */
  readonly keepPassages?: number
}

/**
 * Reads a question file of any supported format. Unusable records are skipped, counted and named.
 * @throws dataset_invalid if the file cannot be read or has no usable record
 */
export async function readDataset(file: string, { answerable = true, keepPassages = 100 }: ReadOptions = {}): Promise<Dataset> {
  const problems = new ProblemLog()
  const questions: EvalQuestion[] = []
  const seen = new Set<string>()
  for await (const { at, value } of readRecords(file)) {
    const parsed = parseQuestion(value, at, { answerable, keepPassages })
    if ('problem' in parsed) {
      problems.add(parsed.problem, at)
      continue
    }
    const { question, notes } = parsed
    // Published datasets contain equal questions about two subjects with the same name: those have distinct ids.
    const identity = question.id === at ? sameQuestion(question.question) : `id ${question.id}`
    if (seen.has(identity)) {
      problems.add('duplicate question', at)
      continue
    }
    seen.add(identity)
    for (const note of notes) problems.add(note, at, 'kept')
    questions.push(question)
  }
  if (questions.length === 0) {
    throw new CodedError(
      'dataset_invalid',
      `${file} has no question that can be asked: ${problems.list().map(describeProblem).join('; ') || 'it holds no record'}. Supported: {"question", "answer"} lines, CEPE/FiD/Contriever/DPR JSON with ctxs, TriviaQA's JSON, PopQA's TSV.`,
    )
  }
  return { questions, problems: problems.list(), file: path.basename(file), sha256: await fileHash(file) }
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

/** Retrieved passages by question, from a file with `ctxs` or `docs`. */
export async function readPassages(file: string, keepPassages: number): Promise<ReadonlyMap<string, readonly EvalPassage[]>> {
  const byQuestion = new Map<string, readonly EvalPassage[]>()
  for await (const { at, value } of readRecords(file)) {
    const parsed = parseQuestion(value, at, { answerable: false, keepPassages })
    if ('question' in parsed && parsed.question.passages) byQuestion.set(sameQuestion(parsed.question.question), parsed.question.passages)
  }
  if (byQuestion.size === 0) throw new CodedError('dataset_invalid', `${file} has no question with passages (ctxs or docs).`)
  return byQuestion
}

/**
 * Assigns passages to every question, at least `k` of them; questions with fewer are skipped, counted and named, so that all values of k
 * are scored on the same questions.
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
    throw new CodedError(
      'dataset_invalid',
      `No question of ${dataset.file} has ${k} passages (the most is ${most}): lower --k to ${most}, or supply more passages.`,
    )
  }
  return { ...dataset, questions, problems: [...dataset.problems, ...problems.list()] }
}
