/**
 * The service under more load than it can bear: answers per second with few clients and with many, under a short and a
 * long deadline, restarts of processes, and how soon refusals come; and how long admitted questions take with four times as many clients
 * as fill the queue. Ratios within one run.
 * Usage: overload.ts [seconds per round] [overload | full | all] [path of another build's cli.js]
 */
import { readFile, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { mean, present } from '../base/at.ts'
import { packageRoot } from '../src/package.ts'
import { benchFolder, printHeading, quantile, table } from './measure.ts'
import { CLI as OWN_CLI, serving, startNode, type Settings } from '../test/helpers/processes.ts'

const SECONDS = Number(process.argv.at(2) ?? 8)
const PART = process.argv.at(3) ?? 'all'
const CLI = process.argv.at(4) ?? OWN_CLI
const FEW = 8
const MANY = 64
const ROUNDS = 3
/** With rounds of 8 s: two minutes with a full queue, and two with more load. */
const FULL = { rounds: 4, longer: 4, times: 4 } as const
const QUEUE = 64
/** Clients start spread over this time: all at once would be a load of its own. */
const SPREAD_MS = 1000
/** Pause of a client that is rejected without Retry-After, or gets 504. */
const PAUSE_MS = 100

/** The first part of the demo corpus: indexed in seconds, and enough for the largest k. */
const PASSAGES = 400

async function writeCorpus(folder: string): Promise<void> {
  const demo = await readFile(join(packageRoot(), 'index/corpus/passages.tsv'), 'utf8')
  const lines = demo.split('\n').slice(0, 1 + PASSAGES)
  await writeFile(join(folder, 'passages.tsv'), lines.join('\n'))
}

/** Starts a service with these settings in a separate process and warms it up. */
async function withService(folder: string, settings: Settings, use: (url: string) => Promise<void>): Promise<void> {
  const own = { CEPE_INDEX_DIR: join(folder, 'index'), CEPE_CORPUS: join(folder, 'passages.tsv') }
  const env = { ...process.env, CEPE_LOG_LEVEL: 'silent', ...own, ...settings }
  const server = await serving(startNode(CLI, ['serve', '--port', '0'], { env, stdio: ['ignore', 'ignore', 'pipe'] }))
  try {
    await load(server.url, FEW, SECONDS)
    await use(server.url)
  } finally {
    await server.stop()
  }
}

type Sent = Awaited<ReturnType<typeof send>>

/** @param body prepared JSON, so that this process's work does not count as the service's */
async function send(url: string, body: string) {
  const started = performance.now()
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body })
  await response.arrayBuffer()
  const retryAfter = response.headers.get('retry-after')
  return { status: response.status, ms: performance.now() - started, retryAfterS: retryAfter === null ? null : Number(retryAfter) }
}

type Round = Awaited<ReturnType<typeof load>>

let asked = 0

/** Clients that each ask one question after the other, and honour Retry-After. */
async function load(url: string, clients: number, seconds: number, spreadMs = 0) {
  const sent: Sent[] = []
  const started = performance.now()
  const end = started + seconds * 1000
  const client = async (_: unknown, index: number): Promise<void> => {
    await delay((spreadMs * index) / clients)
    while (performance.now() < end) {
      // Questions that share few passages, so that every round finds equally many cached encoder states.
      const question = `who founded city number ${asked++ % 1000} and what is it known for`
      const answer = await send(`${url}/v1/answer`, JSON.stringify({ question }))
      sent.push(answer)
      if (answer.status === 200) continue
      const pause = answer.retryAfterS === null ? PAUSE_MS : answer.retryAfterS * 1000
      await delay(Math.max(0, Math.min(pause, end - performance.now())))
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const answers = sent.filter(({ status }) => status === 200)
  return {
    perSecond: (1000 * answers.length) / (performance.now() - started),
    sent,
    answers,
    refusals: sent.filter(({ status }) => status === 503),
    late: sent.filter(({ status }) => status === 504),
  }
}

async function metricsOf(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text()
}

function percentiles(sent: readonly Sent[], ...shares: number[]): string[] {
  const times = sent.map(({ ms }) => ms)
  return shares.map((share) => quantile(times, share).toFixed(0))
}

function withoutRetryAfter(refusals: readonly Sent[]): number {
  return refusals.filter(({ retryAfterS }) => retryAfterS === null).length
}

async function overloadTable(folder: string): Promise<void> {
  const rows: string[][] = []
  for (const deadlineMs of [1000, 120_000])
    await withService(folder, { CEPE_DEADLINE_MS: String(deadlineMs) }, async (url) => {
      const rounds: { few: Round; many: Round }[] = []
      // Alternating, since other load on the machine varies.
      for (let i = 0; i < ROUNDS; i++) rounds.push({ few: await load(url, FEW, SECONDS), many: await load(url, MANY, SECONDS) })
      const few = mean(rounds.map((round) => round.few.perSecond))
      const many = mean(rounds.map((round) => round.many.perSecond))
      const refusals = rounds.flatMap((round) => round.many.refusals)
      const restarts = [...(await metricsOf(url)).matchAll(/^cepe_inference_restarts_total\{.*\} (\d+)$/gm)]
      rows.push([
        `${deadlineMs / 1000} s`,
        few.toFixed(1),
        many.toFixed(1),
        (many / few).toFixed(2),
        String(restarts.reduce((sum, [, count]) => sum + Number(present(count)), 0)),
        `${refusals.length} (${withoutRetryAfter(refusals)})`,
        refusals.length === 0 ? '-' : percentiles(refusals, 0.5, 0.99).join(' / '),
        String(rounds.reduce((sum, round) => sum + round.many.late.length, 0)),
      ])
    })
  const header = ['deadline', `answers/s, ${FEW} clients`, `${MANY} clients`, 'ratio', 'restarts']
  console.log(table([...header, '503 (without Retry-After)', 'refused within ms, p50 / p99', '504'], rows))
}

async function fullTable(folder: string): Promise<void> {
  await withService(folder, { CEPE_QUEUE: String(QUEUE) }, async (url) => {
    // As many clients as fill readers and queue.
    const clients = QUEUE + Number(present(/^cepe_inference_ready\{role="reader"\} (\d+)$/m.exec(await metricsOf(url))?.[1]))
    const loads = [clients, FULL.times * clients]
    const rounds = new Map<number, Round[]>(loads.map((count) => [count, []]))
    for (let i = 0; i < FULL.rounds; i++)
      for (const count of loads) rounds.get(count)?.push(await load(url, count, FULL.longer * SECONDS, SPREAD_MS))
    const rows = [...rounds].map(([count, of]) => {
      const sent = of.flatMap((round) => round.sent)
      const answers = of.flatMap((round) => round.answers)
      const refusals = of.flatMap((round) => round.refusals)
      return [
        `${count} (${(count / clients).toFixed(0)}x)`,
        mean(of.map(({ perSecond }) => perSecond)).toFixed(1),
        ...percentiles(answers, 0.5, 0.99),
        [...new Set(sent.map(({ status }) => status))]
          .map((status) => `${sent.filter((one) => one.status === status).length} x ${status}`)
          .join(', '),
        refusals.length > 0 ? `${percentiles(refusals, 0.5, 0.99, 1).join(' / ')} (${withoutRetryAfter(refusals)})` : '-',
      ]
    })
    const head = ['clients', 'answers/s', 'admitted: p50 ms', 'p99 ms', 'statuses']
    console.log(`\n${table([...head, 'refused within ms, p50 / p99 / most (without Retry-After)'], rows)}`)
  })
}

printHeading('Overload', cpus().length)
await using folder = await benchFolder()
await writeCorpus(folder.path)
const parts = { overload: overloadTable, full: fullTable }
for (const [name, measure] of Object.entries(parts)) if (PART === 'all' || PART === name) await measure(folder.path)
