import t from 'tap'
import { surenessTable } from '../../eval/suites/sureness.ts'

t.test('a measure that the reader does not have has no values; one answer without it counts as 0', (t) => {
  const answer = (correct: number, confidence: number, probability_correct: number | null) => ({
    which: 'a',
    correct,
    confidence,
    probability_correct,
  })
  const rows = (...answers: ReturnType<typeof answer>[]) => {
    const block = surenessTable([[[], answers]])
    return block.kind === 'table' ? block.rows.slice(-2) : []
  }
  t.same(rows(answer(1, 0.95, null), answer(0, 0, null)), [
    ['all', '2', '0.500', 'confidence', '0.475', '0.500', '0.025', '0.500', '1.000'],
    ['all', '2', '0.500', 'probability_correct', '-', '-', '-', '-', '-'],
  ])
  t.same(rows(answer(1, 0.95, 0.8), answer(0, 0, null)).at(-1), [
    'all',
    '2',
    '0.500',
    'probability_correct',
    '0.400',
    '0.000',
    '0.100',
    '0.500',
    '1.000',
  ])
  t.end()
})
