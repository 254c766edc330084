import { readFileSync } from 'node:fs'
import t from 'tap'
import { bestOver, exactMatch, f1, popqaMatch, substringMatch } from '../../eval/metrics/answer.ts'
import { auroc, riskCoverage } from '../../eval/metrics/confidence.ts'
import { answerFinder, ndcgAt, recallAt, reciprocalRankAt } from '../../eval/metrics/retrieval.ts'
import { fileUrl } from '../helpers/root.ts'

interface Official {
  answers: { prediction: string; gold: string; normalized: string; exact: number; f1: number }[]
  passages: { answers: string[]; text: string; has_answer: boolean }[]
}
const official = JSON.parse(readFileSync(fileUrl('test/eval/fixtures/official-scorers.json'), 'utf8')) as Official

t.test("normalisation, exact match and F1 agree with SQuAD's script", (t) => {
  t.ok(official.answers.length > 20)
  for (const { prediction, gold, normalized, exact, f1: overlap } of official.answers) {
    const name = `${JSON.stringify(prediction)} against ${JSON.stringify(gold)}`
    t.equal(exactMatch(prediction, normalized), 1, `normalised ${name}`)
    t.equal(exactMatch(prediction, gold), exact, `exact match of ${name}`)
    t.ok(Math.abs(f1(prediction, gold) - overlap) < 1e-12, `F1 of ${name}`)
  }
  t.end()
})

t.test("answers in passages agree with DPR's validation", (t) => {
  t.ok(official.passages.length > 15)
  for (const { answers, text, has_answer: expected } of official.passages)
    t.equal(answerFinder(answers)(text), expected, `${JSON.stringify(answers)} in ${JSON.stringify(text)}`)
  t.end()
})

t.test('an answer without tokens is in no passage and in no prediction', (t) => {
  t.equal(answerFinder([' '])('any text'), false)
  t.equal(substringMatch('anything', 'The!'), 0)
  t.end()
})

t.test("substring match is on normalised text, PopQA's accuracy on the text as written", (t) => {
  t.equal(substringMatch('It was The Eiffel-Tower.', 'eiffeltower'), 1)
  t.equal(substringMatch('Eiffel', 'Eiffel Tower'), 0)
  t.equal(popqaMatch('he was a politician', 'Politician'), 1, 'in lower case')
  t.equal(popqaMatch('Politician of note', 'politician'), 1, 'capitalised')
  t.equal(popqaMatch('POLITICIAN', 'politician'), 0, 'no other case')
  t.equal(popqaMatch('New york', 'New York'), 1, 'capitalising lowers the rest')
  t.equal(popqaMatch('the U.S.', 'US'), 0, 'punctuation counts')
  t.end()
})

t.test('the best gold answer counts; without any, nothing is right', (t) => {
  t.equal(bestOver(exactMatch, 'Bob Russell', ['Bobby Scott', 'Bob Russell']), 1)
  t.equal(bestOver(f1, 'Russell', ['Bobby Scott', 'Bob Russell']), 2 / 3)
  t.equal(bestOver(exactMatch, '', []), 0)
  t.end()
})

t.test('nDCG and reciprocal ranks of binary relevance', (t) => {
  const near = (found: number, wanted: number, what: string) => t.ok(Math.abs(found - wanted) < 1e-6, `${what}: ${found}`)
  near(ndcgAt([1, 2], 10), 1, 'the ideal order')
  near(ndcgAt([2], 10), 1 / Math.log2(3), 'one, at rank 2')
  // (1/log2 3 + 1/log2 4) / (1 + 1/log2 3 + 1/log2 4): all three count for the ideal.
  near(ndcgAt([2, 3, 6], 5), 0.5307212739772434, 'three, one beyond the depth')
  near(ndcgAt([3], 5, 2), 0.5 / (1 + 1 / Math.log2(3)), 'of two that there are')
  near(ndcgAt([7], 5), 0, 'beyond the depth')
  near(ndcgAt([], 5), 0, 'nothing relevant')
  t.same([reciprocalRankAt([3, 2], 5), reciprocalRankAt([6], 5), reciprocalRankAt([], 5)], [0.5, 0, 0])
  t.end()
})

t.test('recall at k looks at the first k ranks', (t) => {
  t.same(
    [1, 2, 3, 5].map((k) => recallAt([3, 7], k)),
    [0, 0, 1, 1],
  )
  t.equal(recallAt([], 100), 0)
  t.end()
})

t.test('AUROC by hand: ties count half', (t) => {
  t.equal(auroc([0.9, 0.8], [0.1, 0.2]), 1)
  t.equal(auroc([0.1], [0.9]), 0)
  t.equal(auroc([0.5, 0.7], [0.5, 0.3]), 3.5 / 4)
  t.ok(Number.isNaN(auroc([], [1])))
  t.end()
})

t.test('risk over coverage by hand', (t) => {
  const { points, area } = riskCoverage([
    { confidence: 0.9, correct: 1 },
    { confidence: 0.5, correct: 0 },
    { confidence: 0.5, correct: 1 },
    { confidence: 0.1, correct: 0 },
  ])
  t.same(points, [
    { coverage: 0.25, risk: 0 },
    { coverage: 0.75, risk: 1 / 3 },
    { coverage: 1, risk: 0.5 },
  ])
  t.ok(Math.abs(area - (0.5 / 3 + 0.25 * 0.5)) < 1e-12)
  t.end()
})
