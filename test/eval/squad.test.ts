import t from 'tap'
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { SearchResponse } from '../../src/rag/schema.ts'
import type { AnswerClient } from '../../eval/client/client.ts'
import { built, finished, startNode } from '../helpers/processes.ts'
import { realQuestions, settings, withoutAnswers } from '../../eval/suites/squad.ts'

const PASSAGES = [
  { id: '1', text: 'The river Arl rises in Tromm.', title: 'Arl' },
  { id: '2', text: 'Its mouth is near Tromm, too.', title: 'Arl' },
  { id: '3', text: 'It freezes each winter.', title: 'Arl' },
  { id: '4', text: 'Oats are grown in Velm.', title: 'Velm' },
]
const QUESTIONS = [
  { id: 'a', question: 'where does the Arl rise', answer: ['Tromm'], passage_id: '1' },
  { id: 'b', question: 'what is grown in Velm', answer: ['oats'], passage_id: '4' },
  { id: 'c', question: 'which river freezes', answer: ['Arl'], passage_id: '3' },
]

async function written(dir: string): Promise<string> {
  const folder = path.join(dir, 'real')
  await mkdir(folder)
  const rows = PASSAGES.map(({ id, text, title }) => `${id}\t"${text}"\t${title}\n`)
  await writeFile(path.join(folder, 'passages.tsv'), `id\ttext\ttitle\n${rows.join('')}`)
  await writeFile(path.join(folder, 'questions.jsonl'), QUESTIONS.map((question) => `${JSON.stringify(question)}\n`).join(''))
  return folder
}

async function linesOf(file: string): Promise<{ id: string; class: string; ctxs: { id: string }[] }[]> {
  const lines = (await readFile(file, 'utf8')).trim().split('\n')
  return lines.map((line) => JSON.parse(line) as { id: string; class: string; ctxs: { id: string }[] })
}

t.test('each question has its own passage; some have another of the article that does not answer', async (t) => {
  const folder = await written(t.testdir())
  const { answered, unanswered, articleOf } = await realQuestions(folder, path.join(folder, 'out'), 2)
  const given = (lines: Awaited<ReturnType<typeof linesOf>>) => lines.map(({ id, ctxs }) => [id, ...ctxs.map((passage) => passage.id)])
  t.strictSame(given(await linesOf(answered)), [
    ['a', '1'],
    ['b', '4'],
    ['c', '3'],
  ])
  // The next passage holds the answer; Velm has no other, and all titles of Arl answer the last.
  t.strictSame(given(await linesOf(unanswered)), [['a', '3']])
  t.match(articleOf.get('where does the Arl rise'), { title: 'Arl', text: /rises[^]*\n\nIts mouth[^]*freezes/ })
})

t.test('skipped records of both files are reported', async (t) => {
  const folder = await written(t.testdir())
  await appendFile(path.join(folder, 'passages.tsv'), '5\tno title\n')
  await appendFile(path.join(folder, 'questions.jsonl'), '{"id":"d","question":"of 5","answer":"x","passage_id":"5"}\n{}\n')
  const { problems } = await realQuestions(folder, path.join(folder, 'out'))
  t.strictSame(problems, [
    { kind: 'passage that cannot be used (missing column)', count: 1, places: ['line 6'], effect: 'skipped' },
    { kind: 'no question', count: 1, places: ['line 5'], effect: 'skipped' },
    { kind: 'question whose passage_id names no passage', count: 1, places: ['d'], effect: 'skipped' },
  ])
})

t.test('without the passages that answer, titles and all', async (t) => {
  const folder = await written(t.testdir())
  const { isAnsweredBy } = await realQuestions(folder, path.join(folder, 'out'), undefined)
  const asked: (number | undefined)[] = []
  const found = (): Promise<SearchResponse> => {
    const passages = PASSAGES.map((passage, i) => ({ ...passage, rank: i + 1, score: 1 }))
    return Promise.resolve({ passages } as unknown as SearchResponse)
  }
  const client = {
    search: ({ k }) => {
      asked.push(k)
      return found()
    },
  } as AnswerClient
  const left = await withoutAnswers(client, isAnsweredBy).search({ query: 'where does the Arl rise', k: 2 })
  t.strictSame(
    left.passages.map(({ id }) => id),
    ['3', '4'],
  )
  t.strictSame(asked, [4], 'more are retrieved, since some are dropped')
})

t.test('a reader without encoder is not asked through one', (t) => {
  t.ok(settings([5], true).some(({ isEncoderAlone }) => isEncoderAlone))
  t.notOk(settings([3], false).some(({ isEncoderAlone }) => isEncoderAlone))
  t.end()
})

t.test('suites refuse what they cannot ask before anything is started or removed', async (t) => {
  const refused = async (...args: string[]) => {
    const { code, stderr } = await finished(startNode(built('eval/cli.js'), ['suite', ...args]))
    t.equal(code, 1)
    return stderr
  }
  const [nowhere, folder, list, number] = await Promise.all([
    refused('squad'),
    refused('demo', 'folder'),
    refused('documentation', t.testdir()),
    refused('demo', '--k', '0'),
  ])
  t.match(nowhere, /Name the folder with passages\.tsv and questions\.jsonl/)
  t.match(folder, /demo takes no folder/)
  t.match(list, /of the 300 files of documentation\.sha256 are missing/)
  t.match(number, /--k takes whole numbers from 1 to 200, not "0"/)
})
