import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { askedQuestions, checkListed, questionRows, shareRows, sourcesOf, strangeWords } from '../../eval/suites/documentation.ts'
import { readDataset } from '../../eval/datasets/read.ts'
import type { EvalRecord } from '../../eval/tasks/open-domain-qa/record.ts'

const record = (question: string, answer: string, rest: Partial<EvalRecord> & { readonly probability?: number } = {}): EvalRecord => {
  const { probability = 0.9, ...fields } = rest
  return {
    id: question,
    question,
    answers: ['npm ci'],
    answerable: true,
    groups: {},
    demonstrations: [],
    has_gold_passage: false,
    retrieval: { ids: ['npm/install.md#a', 'npm/ci.md#b'], scores: [null, null], answer_ranks: [2], gold_rank: null, timings_ms: null },
    predictions: [
      {
        method: 'decoder-only',
        k: 2,
        answer,
        confidence: 0.5,
        probability_correct: probability,
        finish_reason: 'stop',
        prompt_sha256: '',
        prompt_tokens: 1,
        context_tokens: 0,
        generated_tokens: 1,
        in_decoder: 2,
        in_encoder: 0,
        attention: [],
        timings_ms: { queue: 0, encode: 0, generate: 0, total: 0 },
      },
    ],
    prompts: [{ method: 'decoder-only', k: 2, decoder: ['Use npm ci.\n\nQuestion: which?'], encoder: [] }],
    ...fields,
  }
}

t.test('what the questions on documentation showed', (t) => {
  const asked = askedQuestions(
    [
      record('right', 'npm ci'),
      record('withheld', 'npm ci.', { probability: 0.2 }),
      record('strange', 'npm cii'),
      record('none', '', { answerable: false, answers: [] }),
    ],
    new Map([
      ['right', 'npm/ci.md'],
      ['strange', 'npm/other.md'],
    ]),
  )
  t.match(asked, [
    { right: true, given: true, strangeWords: [], fileRank: 2, answerRank: 2 },
    { right: true, given: false },
    { right: false, given: true, strangeWords: ['cii'], fileRank: undefined },
    { right: false, given: false, answerable: false },
  ])
  const shares = new Map(shareRows(asked, 2).map(([what = '', count]) => [what, count]))
  t.equal(shares.get('exact match'), '2 of 3')
  t.equal(shares.get('without an answer in the files: given by default'), '0 of 1')
  t.equal(shares.get('answers with a word that stands nowhere in question and passages'), '1 of 4')
  t.same(
    questionRows(asked).map(([, answer, , verdict]) => [answer, verdict]),
    [
      ['npm ci', 'right'],
      ['npm ci.', 'right, withheld'],
      ['npm cii', 'wrong'],
      ['(none)', 'withheld'],
    ],
  )
  t.same(strangeWords('Cargo.toml, 2nd', ['cargo TOML']), ['2nd'])
  t.end()
})

t.test('the questions name files of the list, and a folder is measured only with those files', async (t) => {
  const questions = path.join('eval', 'questions', 'documentation.jsonl')
  const sources = await sourcesOf(questions)
  t.same(
    (await readDataset(questions)).questions.filter(({ question }) => !sources.has(question)),
    [],
  )
  const folder = t.testdir({ 'a.md': 'text' })
  const list = path.join(folder, 'list')
  const hash = createHash('sha256').update('text').digest('hex')
  writeFileSync(list, `${hash}  a.md\n`)
  t.equal(await checkListed(folder, list), 1)
  writeFileSync(list, `${hash}  a.md\n${hash}  gone.md\n${hash.replace(/^./, 'x')}  a.md\n`)
  await t.rejects(checkListed(folder, list), { code: 'dataset_invalid', message: /1 of the 2 files of list .* gone\.md/ })
})
