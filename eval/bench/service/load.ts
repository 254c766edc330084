import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'

/** A request without a response after this time counts as hung. */
const HUNG_MS = 60_000
const LONGEST_PAUSE_MS = 1_000

export interface Sent {
  /** 0 for a broken connection, -1 for no response. */
  readonly status: number
  readonly ms: number
  readonly body: unknown
  readonly retryAfterS: number | null
}

export interface Call {
  readonly path: string
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends one request and reads its response; never rejects. */
export async function send(url: string, { path, method = 'POST', body, headers = {} }: Call): Promise<Sent> {
  const started = performance.now()
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
  try {
    const response = await fetch(url + path, {
      method,
      headers: { ...(text !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(text !== undefined && { body: text }),
      signal: AbortSignal.timeout(HUNG_MS),
    })
    const retryAfter = response.headers.get('retry-after')
    const answered = await response.text()
    return {
      status: response.status,
      ms: performance.now() - started,
      body: answered,
      retryAfterS: retryAfter === null ? null : Number(retryAfter),
    }
  } catch (error) {
    const hung = error instanceof Error && error.name === 'TimeoutError'
    return { status: hung ? -1 : 0, ms: performance.now() - started, body: null, retryAfterS: null }
  }
}

/** Clients that each send one request after the other for a time, and honour Retry-After. */
export async function load(url: string, clients: number, seconds: number, next: () => Call): Promise<Sent[]> {
  const sent: Sent[] = []
  const end = performance.now() + seconds * 1000
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      const answer = await send(url, next())
      sent.push({ ...answer, body: null })
      const pause = answer.status === 200 || answer.retryAfterS === null ? 0 : answer.retryAfterS * 1000
      await delay(Math.max(0, Math.min(pause, LONGEST_PAUSE_MS, end - performance.now())))
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return sent
}

/** Sends each request once, with bounded concurrency. */
export async function sendAll(url: string, clients: number, calls: readonly Call[]): Promise<Sent[]> {
  const sent: Sent[] = []
  const left = calls.values()
  const client = async (): Promise<void> => {
    for (const call of left) sent.push({ ...(await send(url, call)), body: null })
  }
  await Promise.all(Array.from({ length: clients }, client))
  return sent
}

let asked = 0
/** Questions that find varying passages from a limited set. */
export function nextQuestion(more: object = {}): Call {
  return { path: '/v1/answer', body: { question: `who founded city number ${asked++ % 500} and what is it known for`, ...more } }
}

export function countBy(sent: readonly Sent[]): string {
  const counts = new Map<number, number>()
  for (const { status } of sent) counts.set(status, (counts.get(status) ?? 0) + 1)
  const name = (status: number): string => (status === -1 ? 'hung' : status === 0 ? 'broken off' : String(status))
  return [...counts].map(([status, count]) => `${count} x ${name(status)}`).join(', ')
}

/** A metric of the service, summed over its labels; `label` selects one as written. */
export async function metric(url: string, name: string, label = ''): Promise<number> {
  const text = String((await send(url, { method: 'GET', path: '/metrics' })).body)
  const found = [...text.matchAll(new RegExp(`^${name}(\\{.*\\})? (\\S+)$`, 'gm'))]
  return found.reduce((sum, [, labels = '', value]) => sum + (labels.includes(label) ? Number(value) : 0), 0)
}
