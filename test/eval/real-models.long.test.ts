import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { built, finished, startNode } from '../helpers/processes.ts'
import { createHttpClient } from '../../eval/client/http.ts'
import { askQuestions } from '../../eval/tasks/open-domain-qa/ask.ts'
import { readRun } from '../../eval/tasks/open-domain-qa/record.ts'
import { builtFixture } from '../fixtures/built-fixture.ts'
import { startServer } from '../helpers/cli.ts'
import { builtService } from '../helpers/service-settings.ts'

const CLI = built('eval/cli.js')
function words(from: number, count: number): string {
  return Array.from({ length: count }, (_, i) => `w${3 + ((from + i * 7) % 60)}`).join(' ')
}

t.test('over real graphs, processes and index: the command gives the same in process and from a running service', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-eval-real-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  // Each in a test of its own, whose folder it is built in.
  const ready = async (name: string): Promise<string> => {
    const target = path.join(dir, name)
    await t.test(`build ${name}`, async (t) => cp(await builtFixture(t, name), target, { recursive: true }))
    return target
  }
  const reader = await ready('cepe-tiny-gqa')
  const retriever = await ready('contriever-tiny')
  const corpus = path.join(dir, 'corpus.tsv')
  await writeFile(corpus, ['id\ttext\ttitle', ...Array.from({ length: 12 }, (_, i) => `${i + 1}\t${words(i, 12)}\tw${i + 3}`)].join('\n'))
  const questions = path.join(dir, 'questions.jsonl')
  await writeFile(
    questions,
    Array.from(
      { length: 4 },
      (_, i) => `${JSON.stringify({ question: words(i, 4), answer: [`w${i + 3}`], passage_id: String(i + 1) })}\n`,
    ).join(''),
  )
  const env = builtService(dir, { reader, retriever }, { CEPE_JOBS_DIR: path.join(dir, 'jobs'), CEPE_CORPUS: corpus })
  const args = [
    '--dataset',
    questions,
    '--k',
    '2,8',
    '--modes',
    'cepe,decoder-only,replug,closed-book',
    '--encoder-passages',
    'others,all',
    '--shots',
    '0',
    '--k-decoder',
    '1',
    '--context-tokens',
    '16',
    '--max-new-tokens',
    '4',
    '--recall-depth',
    '10',
    '--out',
    path.join(dir, 'here'),
  ]
  const { code, stderr } = await finished(startNode(CLI, args, { env }))
  t.equal(code, 0, stderr)

  const { protocol } = (await readRun(path.join(dir, 'here'))).manifest.subject
  const server = await startServer(env)
  const client = createHttpClient(server.url)
  const options = { dataset: 'questions.jsonl', questions, protocol, dumpPrompts: false }
  await askQuestions({ client, folder: path.join(dir, 'there'), concurrency: 2, options })
  t.equal(await server.stop(), 0)

  const [here, there] = [await readRun(path.join(dir, 'here')), await readRun(path.join(dir, 'there'))]
  // An index that is opened again may have been tidied into a new version.
  t.same({ ...here.manifest.subject, index: null }, { ...there.manifest.subject, index: null })
  const comparable = ({ records }: typeof here) =>
    records
      .map((record) => ({
        ...record,
        retrieval: record.retrieval && { ...record.retrieval, timings_ms: null },
        predictions: record.predictions.map((prediction) => ({ ...prediction, timings_ms: null })),
      }))
      .sort((a, b) => a.id.localeCompare(b.id))
  t.equal(here.records.length, 4)
  t.ok(here.records.every(({ predictions, skipped }) => predictions.length === 9 && skipped === undefined))
  t.ok(here.records.every(({ retrieval }) => retrieval?.ids.length === 10))
  const encoded = here.records[0]?.predictions.find(({ method, k }) => method === 'cepe-all' && k === 8)
  t.equal(encoded?.in_encoder, 8)
  t.ok(Math.abs((encoded?.attention.reduce((sum: number, share) => sum + (share ?? 0), 0) ?? 0) - 1) < 0.01)
  t.same(comparable(here), comparable(there))
})
