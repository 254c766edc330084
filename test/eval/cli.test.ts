import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { CLI, finished, startNode } from '../helpers/processes.ts'
import { CodedError } from '../../base/errors.ts'
import { createHttpClient } from '../../eval/client/http.ts'
import { servicesClient } from '../../eval/client/in-process.ts'
import type { EvaluationOptions } from '../../eval/tasks/open-domain-qa/prepare.ts'
import { type EvalRecord, readRun } from '../../eval/tasks/open-domain-qa/record.ts'
import { askQuestions } from '../../eval/tasks/open-domain-qa/ask.ts'
import { compareRuns, comparisonBlocks } from '../../eval/run/compare.ts'
import { readRunOf } from '../../eval/tasks/runs.ts'
import { parseOptions } from '../../eval/tasks/open-domain-qa/options.ts'
import { toMarkdown } from '../../eval/report/blocks.ts'
import { buildReport } from '../../eval/tasks/open-domain-qa/report.ts'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { factServices, type FactOptions } from '../helpers/fact-services.ts'
import { servicesAround } from '../helpers/services.ts'

/** A real HTTP service over the fact pipeline. */
async function service(t: Test, facts: FactOptions = {}) {
  const { services: answering, asked } = factServices(facts)
  const services = await servicesAround(t, answering)
  const app = await buildApp(services, loadConfig({ LOG_LEVEL: 'silent' }, {}), '0.0.0-test')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  let closed = false
  const close = async () => {
    if (!closed) {
      closed = true
      app.server.closeAllConnections()
      await app.close()
    }
  }
  t.teardown(close)
  return { url, services, asked, close }
}

async function workspace(t: Test, count: number) {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-eval-cli-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const write = async (name: string, from: number, to: number) => {
    const file = path.join(dir, name)
    await writeFile(
      file,
      Array.from(
        { length: to - from },
        (_, i) => `${JSON.stringify({ question: `what is fact ${from + i}`, answer: [`a${from + i}`] })}\n`,
      ).join(''),
    )
    return file
  }
  return { dir, questions: await write('questions.jsonl', 0, count), train: await write('train.jsonl', 14, 20) }
}

function start(args: readonly string[]): ChildProcess {
  return startNode(CLI, ['eval', ...args])
}

function untimed({ retrieval, predictions, ...record }: EvalRecord) {
  return {
    ...record,
    retrieval: retrieval && { ...retrieval, timings_ms: null },
    predictions: predictions.map((prediction) => ({ ...prediction, timings_ms: null })),
  }
}
function byId(records: readonly EvalRecord[]) {
  return records.map(untimed).sort((a, b) => a.id.localeCompare(b.id))
}

t.test('killed with SIGKILL and repeated, the command finishes the same run and writes its report', async (t) => {
  const { dir, questions, train } = await workspace(t, 12)
  const folder = path.join(dir, 'run')
  let victim: ChildProcess | undefined
  const { url, asked, services } = await service(t, {
    onAnswer: async () => {
      if (victim === undefined) return
      // Slow until a batch is on disk; then the run dies in the middle of a question.
      await new Promise((resolve) => setTimeout(resolve, 90))
      const written = await stat(path.join(folder, 'predictions.jsonl')).catch(() => undefined)
      if (written && written.size > 0) victim.kill('SIGKILL')
    },
  })
  const command = [
    '--dataset',
    'nq',
    '--questions',
    questions,
    '--train',
    train,
    '--k',
    '2,6',
    '--modes',
    'cepe,closed-book',
    '--recall-depth',
    '10',
    '--url',
    url,
    '--concurrency',
    '1',
    '--out',
    folder,
  ]
  victim = start(command)
  t.equal((await finished(victim)).code, null, 'killed')
  victim = undefined
  const kept = (await readRun(folder)).records.length
  t.ok(kept > 0 && kept < 12, `${kept} of 12 questions were kept`)

  asked.generate.length = 0
  const resumed = await finished(start(command))
  t.equal(resumed.code, 0, resumed.stderr)
  t.equal(asked.generate.length, (12 - kept) * 3 + 1)
  t.match(resumed.stderr, /36\/36 answers \(EM 100\.0 cepe, k = 6, 0\.0 closed-book\)/)

  const whole = path.join(dir, 'whole')
  const client = servicesClient(services)
  const { protocol } = (await readRun(folder)).manifest.subject
  const options = { dataset: 'nq', questions, train, protocol, dumpPrompts: false }
  await askQuestions({ client, folder: whole, concurrency: 2, options })
  t.same(byId((await readRun(folder)).records), byId((await readRun(whole)).records))

  t.same(
    (await readdir(path.join(folder, 'figures'))).sort(),
    ['exact-match', 'latency', 'recall', 'risk-coverage'].flatMap((name) => [`run-1-${name}.png`, `run-1-${name}.svg`]),
  )
  t.match(await readFile(path.join(folder, 'report.md'), 'utf8'), /\| cepe \| 100\.00 \(75\.7, 100\.0\) \| 100\.00/)
  const html = await readFile(path.join(folder, 'report.html'), 'utf8')
  t.equal(html.match(/<svg/g)?.length, 4)
  t.notMatch(html, /(?:src|href)="http/, 'self-contained')

  const comparison = toMarkdown(comparisonBlocks(compareRuns(await readRunOf(folder), await readRunOf(whole))))
  t.match(comparison, /^Readers: first fake.*, second fake.*\.\n/)
  t.match(
    comparison,
    /12 questions are scored in both runs[^]*\| cepe, k = 6 \| EM \| 12 \| 100\.0 \| 100\.0 \| 0\.0 \(0\.0, 0\.0\) \| 1\.000 \| 1\.000/,
  )
  const published = {
    source: 'a paper',
    scores: [
      { dataset: 'nq', model: 'fake', method: 'cepe', k: 6, exact_match: 34.5 },
      { dataset: 'nq', model: 'other', method: 'replug', k: 6, exact_match: 30 },
    ],
  } as const
  const both = toMarkdown(
    buildReport([await readRun(folder), await readRun(whole)], { source: published.source, scores: [...published.scores] }).blocks,
  )
  t.match(both, /nq \(run 1\) k = 2 \| nq \(run 1\) k = 6 \| nq \(run 2\) k = 2 \| nq \(run 2\) k = 6/)
  const [ours, theirs] = [await readRun(folder), await readRun(whole)]
  const other = { ...theirs, manifest: { ...theirs.manifest, subject: { ...theirs.manifest.subject, reader: 'other' } } }
  const ofTwo = toMarkdown(buildReport([ours, other], { source: published.source, scores: [] }).blocks)
  t.match(ofTwo, /^# .+\n\nReader: fake.*, other\. Retriever: \S+\.\n/, 'a report names its models first')
  t.match(ofTwo, /nq \(fake.*\) k = 2 \| nq \(fake.*\) k = 6 \| nq \(other\) k = 2 \| nq \(other\) k = 6/)
  t.match(both, /\| cepe \(published\) \|  \| 34\.50 \|  \| 34\.50 \|/, 'published scores of the same model stand beside')
  t.notMatch(both, /replug/, 'those of another model do not')
})

t.test('over HTTP the answers are the same as in process', async (t) => {
  const { dir, questions, train } = await workspace(t, 6)
  const { url, services } = await service(t, { offset: 2, window: 150 })
  const options = {
    dataset: 'nq',
    questions,
    train,
    dumpPrompts: true,
    protocol: {
      modes: ['cepe', 'decoder-only', 'replug', 'closed-book'],
      ks: [2, 8],
      encoder_passages: ['others', 'all'],
      shots: 2,
      k_decoder: 3,
      context_tokens: 256,
      max_new_tokens: 25,
      retrieval: 'dense',
      recall_depth: 10,
      seed: 0,
    },
  } as const
  const records: EvalRecord[][] = []
  for (const client of [createHttpClient(url), servicesClient(services)]) {
    const mutable = {
      ...options,
      protocol: {
        ...options.protocol,
        modes: [...options.protocol.modes],
        ks: [...options.protocol.ks],
        encoder_passages: [...options.protocol.encoder_passages],
      },
    }
    const folder = path.join(dir, client.name.replace(/\W/g, '-'))
    records.push(await askQuestions({ client, folder, concurrency: 3, options: mutable }))
  }
  t.equal(records[0]?.length, 6)
  t.ok(records[0]?.every(({ prompts }) => prompts && prompts.length > 0))
  t.same(records[0]?.map(untimed), records[1]?.map(untimed))
})

t.test('a service that dies in the middle is named, and what was answered is kept', async (t) => {
  const { dir, questions, train } = await workspace(t, 8)
  let answers = 0
  const running = await service(t, {
    onAnswer: () => {
      answers++
      if (answers === 8) setImmediate(() => void running.close())
    },
  })
  const client = createHttpClient(running.url, undefined, { attempts: 2, pauseMs: 1 })
  const options: EvaluationOptions = {
    dataset: 'nq',
    questions,
    train,
    dumpPrompts: false,
    protocol: {
      modes: ['cepe'],
      ks: [2, 6],
      encoder_passages: ['others'],
      shots: 2,
      k_decoder: 2,
      context_tokens: 256,
      max_new_tokens: 25,
      retrieval: 'dense',
      recall_depth: 10,
      seed: 0,
    },
  }
  const folder = path.join(dir, 'run')
  await t.rejects(askQuestions({ client, folder, concurrency: 1, options }), {
    code: 'service_unreachable',
    message: /does not answer .* of 8 questions are kept/,
  })
  t.ok((await readRun(folder)).records.length >= 2)
})

t.test('a busy service is asked again after its Retry-After; a strange one is named', async (t) => {
  const { services } = await service(t)
  const seen: number[] = []
  const answer = JSON.stringify(await servicesClient(services).answer({ question: 'what is fact 1', k: 2 }))
  const fake = createServer((request, response) => {
    seen.push(seen.length)
    request.resume()
    if (request.url === '/v1/search') return void response.writeHead(200).end('<html>')
    if (seen.length < 3)
      return void response
        .writeHead(503, { 'retry-after': '0', 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { code: 'overloaded', message: 'full', request_id: '1' } }))
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
  })
  await new Promise<void>((resolve) => void fake.listen(0, '127.0.0.1', resolve))
  t.teardown(() => fake.close())
  const address = fake.address()
  const client = createHttpClient(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/`, undefined, {
    attempts: 3,
    pauseMs: 1,
  })
  t.equal((await client.answer({ question: 'x' })).answer, 'a1')
  t.equal(seen.length, 3)
  await t.rejects(client.search({ query: 'x' }), {
    code: 'service_unreachable',
    message: /\/v1\/search does not answer as this version's API does/,
  })
  t.throws(() => createHttpClient('localhost:8080'), { code: 'options_invalid' })
})

t.test('in process neither a deadline nor a full service stops a question; over HTTP a busy one is waited for', async (t) => {
  const { answering } = (await service(t)).services
  const runs: unknown[] = []
  const full = () => {
    throw new CodedError('overloaded', 'The estimated response time is 116 s, the deadline 1.5 s.', { retryAfterS: 1 })
  }
  const { reader } = answering
  const client = servicesClient({
    answering: {
      ...answering,
      admission: { enter: full },
      reader: {
        ...reader,
        answer: (request, run) => {
          runs.push(run?.deadlineMs, run?.admitted)
          return reader.answer(request, run)
        },
      },
    },
    close: () => Promise.resolve(),
  })
  t.equal((await client.answer({ question: 'what is fact 1', k: 2 })).answer, 'a1')
  t.same(runs, [undefined, true])
  t.equal((await client.search({ query: 'what is fact 1', k: 2 })).passages.length, 2)

  let refusals = 0
  const { url } = await service(t, {
    onAnswer: () => {
      if (refusals++ < 3) full()
    },
  })
  const patient = createHttpClient(url, undefined, { attempts: 2, pauseMs: 1 })
  t.equal((await patient.answer({ question: 'what is fact 1', k: 2, demonstrations: [] })).answer, 'a1')
  t.equal(refusals, 4, 'as often as it takes')
  refusals = 0
  await t.rejects(
    createHttpClient(url, undefined, { attempts: 2, pauseMs: 1, busyMs: 1500 }).answer({ question: 'what is fact 1', k: 2 }),
    {
      code: 'overloaded',
    },
  )
})

t.test('bad options are refused with what is allowed', async (t) => {
  const defaults = { k: '5', modes: 'cepe', encoderPassages: 'others', protocol: 'paper', recallDepth: '100', seed: '0' }
  const cases: [Record<string, string>, RegExp][] = [
    [{}, /--dataset is missing/],
    [{ dataset: 'nq' }, /--questions is missing/],
    [{ dataset: 'q.jsonl', k: '5,many' }, /--k takes whole numbers from 1 to 200, not "many"/],
    [{ dataset: 'q.jsonl', modes: 'cepe,fid' }, /--modes takes cepe, decoder-only, map-rerank, experts, replug, closed-book, not "fid"/],
    [{ dataset: 'q.jsonl', k: '500' }, /--k takes whole numbers from 1 to 200/],
    [{ dataset: 'q.jsonl', protocol: 'mine' }, /--protocol takes paper, paper-exact, model/],
    [{ dataset: 'q.jsonl', shots: '-1' }, /--shots takes whole numbers from 0/],
    [{ dataset: 'q.jsonl', passages: 'p.jsonl', retrieval: 'dense' }, /leave --retrieval out/],
  ]
  for (const [options, message] of cases) t.throws(() => parseOptions({ ...defaults, ...options }), { code: 'options_invalid', message })
  t.match(parseOptions({ ...defaults, dataset: 'a/q.jsonl', k: '20,5,5', shots: 'service' }), {
    dataset: 'q.jsonl',
    questions: 'a/q.jsonl',
    protocol: { ks: [5, 20], shots: null, k_decoder: 10, context_tokens: 256, max_new_tokens: 25, retrieval: 'dense' },
  })
  t.match(parseOptions({ ...defaults, dataset: 'nq', questions: 'q.jsonl', passages: 'p.jsonl', protocol: 'model' }), {
    dataset: 'nq',
    protocol: { shots: null, k_decoder: null, retrieval: 'supplied' },
  })

  const refused = await finished(start(['--dataset', 'missing.jsonl', '--url', 'http://127.0.0.1:9']))
  t.equal(refused.code, 1)
  t.match(refused.stderr, /^cepe eval: missing\.jsonl cannot be read: .*\n$/)
})
