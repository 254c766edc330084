import { quantile } from '../measure.ts'
import { metric, sendAll, type Call } from './load.ts'
import { good, MANY, ROUNDS, sum, type Row, type Settings } from './parts.ts'
import { startServer, type Server } from './server.ts'

const MB = 1e6
const KS = [10, 40] as const
/** Number of sequential questions. */
const ALONE = 30

interface Measured {
  readonly name: string
  readonly server: Server
  /** Answers per second of new questions, and the share of their passages' states in the cache. */
  readonly fresh: { readonly rate: number; readonly hits: number }
  /** For each k: answers per second of the rounds, and milliseconds of each sequential question. */
  readonly again: ReadonlyMap<number, { readonly rates: number[]; readonly alone: number[] }>
}

/**
 * Compares one reader with all threads with as many readers of one thread each, alternating: every question for the first time, then again.
 * Readers do not share states, so each encodes what another has encoded before.
 */
export async function readersAgainstThreads(settings: Settings, questions: readonly string[], cores: number): Promise<Row[]> {
  const calls = (k: number): Call[] => questions.map((question) => ({ path: '/v1/answer', body: { question, k } }))
  const kinds = [
    { name: `1 x ${cores}`, CEPE_READERS: '1', CEPE_THREADS: String(cores) },
    { name: `${cores} x 1`, CEPE_READERS: String(cores), CEPE_THREADS: '1' },
  ]
  const all: Measured[] = []
  try {
    for (const { name, ...own } of kinds) {
      const server = await startServer({ ...settings, ...own })
      await readersReady(server, Number(own.CEPE_READERS))
      const rate = await rateOf(server, calls(KS[0]))
      const fresh = { rate, hits: await hitShare(server) }
      all.push({ name, server, fresh, again: new Map(KS.map((k) => [k, { rates: [], alone: [] }])) })
    }
    // The first round at each k fills caches.
    for (const k of KS)
      for (let i = 0; i <= ROUNDS; i++)
        for (const { server, again } of all) {
          const rate = await rateOf(server, calls(k))
          const alone = await sendAll(server.url, 1, calls(k).slice(0, ALONE))
          if (i === 0) continue
          again.get(k)?.rates.push(rate)
          again.get(k)?.alone.push(...alone.map(({ ms }) => ms))
        }
    return all.map(rowOf)
  } finally {
    for (const { server } of all) await server.stop()
  }
}

/** Readers after the first load while questions are answered. */
async function readersReady({ url }: Server, readers: number): Promise<void> {
  while ((await metric(url, 'cepe_inference_ready', 'role="reader"')) < readers) await sendAll(url, 1, [{ method: 'GET', path: '/readyz' }])
}

async function rateOf({ url }: Server, calls: readonly Call[]): Promise<number> {
  const since = performance.now()
  const sent = await sendAll(url, MANY, calls)
  return (1000 * good(sent)) / (performance.now() - since)
}

async function hitShare({ url }: Server): Promise<number> {
  const [hits, misses] = [
    await metric(url, 'cepe_state_cache_lookups_total', 'outcome="hit"'),
    await metric(url, 'cepe_state_cache_lookups_total', 'outcome="miss"'),
  ]
  return hits / (hits + misses)
}

function rowOf({ name, server, fresh, again }: Measured): Row {
  const warm = [...again].map(
    ([k, { rates, alone }]) =>
      `k = ${k}: ${(sum(rates) / rates.length).toFixed(1)} answers/s with ${MANY} clients, alone p50 ${quantile(alone, 0.5).toFixed(0)} ms`,
  )
  const first = `asked for the first time, k = ${KS[0]}: ${fresh.rate.toFixed(1)} answers/s, ${(100 * fresh.hits).toFixed(0)} % of states there`
  return [`readers x threads: ${name}`, '-', `${[first, ...warm].join('; ')}; ${(server.residentBytes() / MB).toFixed(0)} MB in all`]
}
