import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { checkListed, documentation } from '../../eval/suites/documentation.ts'
import type { EvalRecord, StoredRun } from '../../eval/tasks/open-domain-qa/record.ts'

const QUESTIONS = path.join('eval', 'questions', 'documentation.jsonl')

const record = (
  question: string,
  answer: string,
  rest: Partial<EvalRecord> & { readonly probability?: number | null } = {},
): EvalRecord => {
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

/** The first questions of the file, each with the file that it was written from. */
const questions = readFileSync(QUESTIONS, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { readonly question: string; readonly source: string })

/** Rows of the suite's tables where its questions were answered so. */
async function tablesOf(records: readonly EvalRecord[]): Promise<(readonly string[])[][]> {
  const ask = () => Promise.resolve({ manifest: {}, records } as unknown as StoredRun)
  const context = { folder: '', mode: 'decoder-only', ks: [2], limit: undefined, ask }
  const { lead } = await documentation.measure(context as unknown as Parameters<typeof documentation.measure>[0])
  return lead.flatMap((block) => (block.kind === 'table' ? [[...block.rows]] : []))
}

t.test('what the questions on documentation showed', async (t) => {
  const [first, second, third] = questions
  if (!first || !second || !third) throw new Error('no questions')
  const ids = (file: string) => ({
    ids: ['npm/install.md#a', `${file}#b`],
    scores: [null, null],
    answer_ranks: [2],
    gold_rank: null,
    timings_ms: null,
  })
  const [shares = [], rows = []] = await tablesOf([
    record(first.question, 'npm ci', { retrieval: ids(first.source) }),
    record(second.question, 'npm ci.', { probability: 0.2, retrieval: ids('other.md') }),
    record(third.question, 'Npm.cii, 2nd', { retrieval: ids('other.md') }),
    record('none', '', { answerable: false, answers: [] }),
  ])
  const counts = new Map(shares.map(([what = '', count]) => [what, count]))
  t.equal(counts.get('exact match'), '2 of 3')
  t.equal(counts.get("a passage of the question's file among the 2 that are retrieved"), '1 of 3')
  t.equal(counts.get('a passage with a right answer among the 2 that are retrieved'), '3 of 3')
  t.equal(counts.get('given by default (probability_correct from 0.5)'), '2 of 3')
  t.equal(counts.get('without an answer in the files: given by default'), '0 of 1')
  t.equal(counts.get('answers with a word that stands nowhere in question and passages'), '1 of 4')
  t.same(
    rows.map(([, answer, , verdict, , fileRank, answerRank]) => [answer, verdict, fileRank, answerRank]),
    [
      ['npm ci', 'right', '2', '2'],
      ['npm ci.', 'right, withheld', '-', '2'],
      ['Npm.cii, 2nd', 'wrong', '-', '2'],
      ['(none)', 'withheld', '', ''],
    ],
  )
  const [given = [], [row = []] = []] = await tablesOf([record(first.question, 'npm ci', { probability: null })])
  t.same([given[4]?.[1], row[3], row[4]], ['1 of 1', 'right', '-'], 'without a calibration nothing is withheld, and nothing is probable')
  const copied = await tablesOf([record(first.question, 'NPM.ci, which')])
  t.equal(copied[0]?.at(-1)?.[1], '0 of 1', 'words of the prompt, in any case and with any marks')
})

t.test('the questions name files of the list, and a folder is measured only with those files', async (t) => {
  const listed = readFileSync(path.join('eval', 'questions', 'documentation.sha256'), 'utf8')
  t.same(
    questions.filter(({ source }) => !listed.includes(`  ${source}\n`)),
    [],
  )
  const folder = t.testdir({ 'a.md': 'text' })
  const list = path.join(folder, 'list')
  const hash = createHash('sha256').update('text').digest('hex')
  writeFileSync(list, `${hash}  a.md\n`)
  await checkListed(folder, list)
  writeFileSync(list, `${hash}  a.md\n${hash}  gone.md\n${hash.replace(/^./, 'x')}  a.md\n`)
  await t.rejects(checkListed(folder, list), { code: 'dataset_invalid', message: /1 of the 2 files of list .* gone\.md/ })
})
