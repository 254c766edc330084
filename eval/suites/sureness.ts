import { mean } from '../../base/at.ts'
import { bestOver, exactMatch } from '../metrics/answer.ts'
import { aurocCorrect, calibrationError, coverageAtRisk, type JudgedAnswer } from '../metrics/confidence.ts'
import { type Block, number, table } from '../report/blocks.ts'
import type { EvalRecord } from '../tasks/open-domain-qa/record.ts'
import { answersOf } from '../tasks/open-domain-qa/summary.ts'

/** The two measures of an answer's certainty. An empty answer has no probability, which counts as 0 where others have one. */
const MEASURES = ['confidence', 'probability_correct'] as const

/** Accepted share of wrong answers. */
const RISK = 0.1

/** An answer in one setting, with the class of its question. */
export interface SureAnswer extends Readonly<Record<(typeof MEASURES)[number], number | null>> {
  readonly which: string
  readonly correct: number
}

/** The answers of a run in one setting. */
export function sureAnswers(records: readonly EvalRecord[], method: string, k: number): SureAnswer[] {
  return answersOf(records, method, k).map(({ record, prediction: { answer, confidence, probability_correct } }) => {
    const { class: which = 'all' } = record.groups
    const correct = record.answerable ? bestOver(exactMatch, answer, record.answers) : 0
    return { which, correct, confidence, probability_correct }
  })
}

/**
 * One row per run, class and measure, and two for all classes of a run together; without values for a measure that the reader does not have.
 * @param runs answers by the name of the run, if any
 */
export function surenessTable(runs: readonly (readonly [name: readonly string[], answers: readonly SureAnswer[]])[]): Block {
  const named = ['class', 'answers', 'right', 'measure', 'mean', 'above 0.9', 'expected calibration error']
  const header = [...named, `coverage at ${100 * RISK} % risk`, 'AUROC']
  const rows = runs.flatMap(([name, answers]) =>
    [...new Set(answers.map(({ which }) => which)), undefined].flatMap((which) =>
      MEASURES.map((measure) => {
        const of = which === undefined ? answers : answers.filter((answer) => answer.which === which)
        const sure = of.map(({ correct, [measure]: confidence }): JudgedAnswer => ({ confidence: confidence ?? 0, correct }))
        const cells = [...name, which ?? 'all', String(sure.length), number(mean(sure.map(({ correct }) => correct)), 3), measure]
        if (answers.every(({ [measure]: confidence }) => confidence === null)) return [...cells, '-', '-', '-', '-', '-']
        return [
          ...cells,
          number(mean(sure.map(({ confidence }) => confidence)), 3),
          number(mean(sure.map(({ confidence }) => Number(confidence > 0.9))), 3),
          number(calibrationError(sure), 3),
          number(coverageAtRisk(sure, RISK), 3),
          number(aurocCorrect(sure), 3),
        ]
      }),
    ),
  )
  const names = (runs[0]?.[0] ?? []).map(() => 'passages')
  return table([...names, ...header], rows, 4 + names.length)
}
