import { at } from '../../base/at.ts'
import { demoCorpus, questionFile } from '../datasets/shipped.ts'
import { heading, number, table, text } from '../report/blocks.ts'
import type { EvalRecord } from '../tasks/open-domain-qa/record.ts'
import { modelProtocol } from '../tasks/open-domain-qa/protocol.ts'
import { summarise, type Summary } from '../tasks/open-domain-qa/summary.ts'
import type { Suite } from './suite.ts'
import { givenAtCoverage, type Measure, shareAbove, sureAnswers, surenessTable } from './sureness.ts'

/** Questions of each class, so that the demo takes less than ten minutes on two cores. */
const QUESTIONS = 200

/** The shipped models on the shipped corpus and questions: attributes together with unanswerable questions, and free sentences. */
export const demo: Suite = {
  name: 'demo',
  title: 'The demo questions',
  isShipped: true,
  corpus: demoCorpus,
  concurrency: 2,
  // Passages that are read separately may be many, those of one prompt are few.
  ks: ({ mode, k }) => (mode === 'decoder-only' ? [k, k + 2] : [k, 2 * k, 4 * k]),
  measure: async ({ mode, ks, limit = QUESTIONS, ask }) => {
    const common = { limit, dumpPrompts: false }
    const protocol = modelProtocol([mode], [...ks], 'dense', 100)
    const attributes = await ask('attributes', {
      ...common,
      dataset: 'demo, attributes',
      questions: questionFile('test.jsonl'),
      unanswerable: questionFile('unanswerable.jsonl'),
      protocol: { ...protocol, modes: [mode, 'closed-book'] },
    })
    const free = await ask('free', { ...common, dataset: 'demo, free sentences', questions: questionFile('free.jsonl'), protocol })
    const [k, more] = [at(ks, 0), ks.slice(1)]
    const [summary, freeSummary] = [attributes, free].map(({ manifest, records }) => summarise(manifest, records)) as [Summary, Summary]
    const targets = demoTargets(summary, freeSummary, attributes.records, { method: mode, k, more })
    return {
      runs: [attributes, free],
      lead: [
        text('The models on the shipped corpus and questions, measured through the HTTP API of a service started for it.'),
        heading(2, 'Targets'),
        table(
          ['on the demo test questions', 'target', 'measured', ''],
          targets.map(({ what, target, measured, met }) => [what, target, measured, met ? 'met' : 'missed']),
          2,
        ),
        heading(2, `How sure the answers are (${mode}, k = ${k})`),
        surenessTable([[[], sureAnswers([...attributes.records, ...free.records], mode, k)]]),
      ],
    }
  },
}

const RECALL_DEPTH = 5
const MOST_LOST = 0.02
/** Confidence that counts as certain. */
const SURE = 0.9

/**
 * Compares the runs on the demo questions with the targets of the shipped models.
 * @param attributes the run on attributes: the reader's mode at k and above, closed-book, with unanswerable questions
 * @param records the questions of the run on attributes, including unanswerable ones
 * @param subject the reader's mode and number of passages, and larger numbers
 * @throws if a run lacks a setting
 */
export function demoTargets(
  attributes: Summary,
  free: Summary,
  records: readonly EvalRecord[],
  { method, k, more }: { readonly method: string; readonly k: number; readonly more: readonly number[] },
) {
  const em = (of: Summary, k: number) => settingOf(of, method, k).exactMatch.mean
  const recall = ({ retrieval }: Summary) => retrieval?.recall.find((depth) => depth.k === RECALL_DEPTH)?.estimate.mean ?? Number.NaN
  const sure = sureAnswers(records, method, k)
  const certain = (which: string) => shareAbove(sure, 'probability_correct', SURE, which)
  const present = (measure: Measure) => givenAtCoverage(sure, measure, { covered: 'attribute', given: 'entity present', coverage: 0.6 })
  const own = em(attributes, k)
  const named = `${method}, k = `
  const targets: readonly (readonly [what: string, measured: number, relation: '>=' | '<', bound: number])[] = [
    [`recall@${RECALL_DEPTH} of the retriever, attributes`, recall(attributes), '>=', 0.95],
    [`recall@${RECALL_DEPTH} of the retriever, free sentences`, recall(free), '>=', 0.95],
    [`exact match, attributes, ${named}${k}`, own, '>=', 0.88],
    ...more.map(
      (n) => [`exact match, attributes, ${named}${n} (k = ${k} less ${MOST_LOST})`, em(attributes, n), '>=', own - MOST_LOST] as const,
    ),
    [`exact match, free sentences, ${named}${k}`, em(free, k), '>=', 0.6],
    ['exact match, attributes, closed-book', settingOf(attributes, 'closed-book', 0).exactMatch.mean, '<', own],
    [`unanswerable, entity absent: probability_correct above ${SURE}`, certain('entity absent'), '<', 0.05],
    [`unanswerable, entity present: probability_correct above ${SURE}`, certain('entity present'), '<', 0.05],
    [
      'unanswerable, entity present: answered where 0.6 of the attributes are, by probability_correct',
      ...([present('probability_correct'), '<', 0.1] as const),
    ],
    ['the same by confidence', present('confidence'), '<', 0.1],
    [`attributes: probability_correct above ${SURE}`, certain('attribute'), '>=', 0.6],
    [
      `AUROC of the confidence, answered right against unanswerable, ${named}${k}`,
      ...([settingOf(attributes, method, k).aurocUnanswerable, '>=', 0.88] as const),
    ],
  ]
  return targets.map(([what, measured, relation, bound]) => ({
    what,
    target: `${relation} ${number(bound, 3)}`,
    measured: number(measured, 3, 'not measured'),
    met: relation === '<' ? measured < bound : measured >= bound,
  }))
}

function settingOf({ settings }: Summary, method: string, k: number) {
  const setting = settings.find((candidate) => candidate.method === method && candidate.k === k)
  if (setting === undefined) throw new Error(`The demo run has no ${method} at k = ${k}. This is a bug.`)
  return setting
}
