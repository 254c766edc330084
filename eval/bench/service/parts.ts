import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { at } from '../../../base/at.ts'
import { countBy, load, metric, nextQuestion, send, type Call, type Sent } from './load.ts'
import { ADMIN_KEY, startServer, type Server } from './server.ts'

/** measure, target, measured. */
export type Row = readonly [string, string, string]
export type Settings = Readonly<Record<string, string>>

export const MANY = 16
export const ROUNDS = 3
/** Slices of a soak; the first is the warm-up. */
const SOAK_SLICES = 5
const MB = 1e6
/** The metric is the time between two ticks of this timer, which a loop without delay shows too. */
const LAG_TIMER_MS = 10

async function withServer<Result>(settings: Settings, work: (server: Server) => Promise<Result>): Promise<Result> {
  const server = await startServer(settings)
  try {
    return await work(server)
  } finally {
    await server.stop()
  }
}

/** Event loop and answers per second, alternating between 16 clients and one, since other load varies. */
export function concurrency(settings: Settings, seconds: number): Promise<Row[]> {
  return withServer(settings, async ({ url, waitedMs }) => {
    await load(url, 4, seconds, nextQuestion)
    const rates: { one: number; many: number }[] = []
    const lags: number[] = []
    const waits: number[] = []
    const sent = []
    for (let i = 0; i < ROUNDS; i++) {
      const one = await load(url, 1, seconds, nextQuestion)
      // Reading the metric resets it.
      await metric(url, 'nodejs_eventloop_lag_p99_seconds')
      const before = { waitedMs: waitedMs(), at: performance.now() }
      const many = await load(url, MANY, seconds, nextQuestion)
      waits.push((100 * (waitedMs() - before.waitedMs)) / (performance.now() - before.at))
      lags.push(1000 * (await metric(url, 'nodejs_eventloop_lag_p99_seconds')) - LAG_TIMER_MS)
      rates.push({ one: good(one) / seconds, many: good(many) / seconds })
      sent.push(...one, ...many)
    }
    const [one, many] = [sum(rates.map((rate) => rate.one)), sum(rates.map((rate) => rate.many))]
    return [
      [
        'event-loop delay p99 at concurrency 16',
        '<= 20 ms',
        `${wholeNumbers(lags)} ms in ${ROUNDS} rounds; waiting for a core ${wholeNumbers(waits)} % of the time`,
      ],
      [
        'answers/s at concurrency 16 against one at a time',
        '>= 1.6x on 2 cores, no errors',
        `${(many / one).toFixed(2)}x (${(many / ROUNDS).toFixed(1)} against ${(one / ROUNDS).toFixed(1)}); ${countBy(sent)}`,
      ],
    ]
  })
}

/** The encode stage with cached states, against the first time. */
export function cached(settings: Settings, questions: readonly string[]): Promise<Row[]> {
  return withServer(settings, async ({ url }) => {
    const encode = async (): Promise<number> => {
      let ms = 0
      for (const question of questions) {
        const { status, body } = await send(url, { path: '/v1/answer', body: { question, k: 40 } })
        if (status !== 200) throw new Error(`a question was answered ${status}: ${String(body)}`)
        ms += (JSON.parse(String(body)) as { timings_ms: { encode: number } }).timings_ms.encode
      }
      return ms
    }
    const first = await encode()
    const again = await encode()
    const each = (ms: number): string => (ms / questions.length).toFixed(1)
    return [
      [
        `the same ${questions.length} questions again, k = 40, encode stage`,
        '>= 10x faster',
        `${(first / again).toFixed(1)}x (${each(first)} ms, then ${each(again)} ms a question)`,
      ],
    ]
  })
}

/** Repeated kill -9 of a reader under load. */
export function killed(settings: Settings, seconds: number, everyS: number): Promise<Row[]> {
  return withServer({ ...settings, CEPE_DEADLINE_MS: '20000' }, async (server) => {
    const { url } = server
    await load(url, 8, 3, nextQuestion)
    const before = { processes: server.children().length, bytes: server.residentBytes() }
    const embedder = at(server.children(), 0)
    let kills = 0
    const killer = setInterval(() => {
      const readers = server.children().filter((pid) => pid !== embedder)
      const victim = readers[kills % Math.max(1, readers.length)]
      if (victim !== undefined) process.kill(victim, 'SIGKILL')
      kills += victim === undefined ? 0 : 1
    }, everyS * 1000)
    const sent = await load(url, 8, seconds, nextQuestion)
    clearInterval(killer)
    const ended = performance.now()
    while ((await send(url, { method: 'GET', path: '/readyz' })).status !== 200 && performance.now() - ended < 60_000) await delay(200)
    await load(url, 8, 3, nextQuestion)
    const after = { processes: server.children().length, bytes: server.residentBytes() }
    return [
      [
        `kill -9 of a reader every ${everyS} s for ${seconds} s under load`,
        'every request answered or refused, none lost or hung; nothing left behind',
        `${kills} kills; ${countBy(sent)}; processes ${before.processes} -> ${after.processes}, memory ${megabytes(before.bytes)} -> ${megabytes(after.bytes)}`,
      ],
    ]
  })
}

/** Mixed requests for a long time: memory of all processes per minute, after the first fifth and at the end. */
export function soak(settings: Settings, minutes: number): Promise<Row[]> {
  return withServer(settings, async (server) => {
    const slices = Math.max(SOAK_SLICES, Math.round(minutes))
    const sent: Sent[] = []
    const sizes: number[] = []
    for (let i = 1; i <= slices; i++) {
      sent.push(...(await load(server.url, 4, (minutes * 60) / slices, nextMixed)))
      sizes.push(server.residentBytes())
      console.error(`soak ${i} of ${slices}: ${megabytes(server.residentBytes())}; ${countBy(sent)}`)
    }
    const warm = at(sizes, Math.floor(slices / SOAK_SLICES) - 1)
    const growth = at(sizes, slices - 1) - warm
    return [
      [
        `${minutes}-minute soak of mixed requests`,
        'memory of all processes grows by <= 100 MB after warm-up',
        `${growth >= 0 ? '+' : ''}${megabytes(growth)} on ${megabytes(warm)}, at most ${megabytes(Math.max(...sizes))}; ${countBy(sent)}`,
      ],
    ]
  })
}

const admin = { authorization: `Bearer ${ADMIN_KEY}` }
const MIX: readonly (() => Call)[] = [
  () => nextQuestion(),
  () => nextQuestion({ k: 20 }),
  () => nextQuestion({ mode: 'closed-book' }),
  () => nextQuestion({ sampling: { temperature: 1, top_p: 0.9, seed: 1 } }),
  () => ({ path: '/v1/search', body: { query: 'a river of australia', k: 20 } }),
  () => ({ path: '/v1/score', body: { question: 'what is the capital of australia', choices: ['canberra', 'sydney'], k: 5 } }),
  () => ({
    path: '/v1/chat/completions',
    body: { model: 'cepe', stream: true, messages: [{ role: 'user', content: 'who composed aida' }] },
  }),
  () => ({ path: '/v1/embeddings', body: { model: 'contriever', input: ['one text', 'and another'] } }),
  () => ({ path: '/v1/answer', body: { question: 'x', k: 100_000 } }),
  () => ({ method: 'GET', path: '/v1/info' }),
  () => ({ method: 'GET', path: '/metrics' }),
  () => ({ method: 'GET', path: '/v1/admin/passages?limit=50', headers: admin }),
]
let mixed = 0
function nextMixed(): Call {
  return at(MIX, mixed++ % MIX.length)()
}

export function good(sent: readonly { readonly status: number }[]): number {
  return sent.filter(({ status }) => status === 200).length
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function wholeNumbers(values: readonly number[]): string {
  return values.map((value) => value.toFixed(0)).join(', ')
}

function megabytes(bytes: number): string {
  return `${(bytes / MB).toFixed(0)} MB`
}
