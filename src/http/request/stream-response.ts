import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'

/** Longest time for a client to accept a part of a response; then its connection is closed. */
const STALL_MS = 60_000
const PIECE = 64 * 1024
/** Interval of comments in an idle stream: proxies close idle connections. */
const KEEP_ALIVE_MS = 15_000
const COMMENT = ':\n\n'

/** Sends a body in parts with backpressure: the next part is requested when the client has accepted the previous ones. */
export function streamResponse(reply: FastifyReply, mediaType: string, parts: AsyncIterable<string>): FastifyReply {
  return reply
    .type(`${mediaType}; charset=utf-8`)
    .headers({ 'cache-control': 'no-cache', 'x-accel-buffering': 'no' })
    .send(Readable.from(withBackpressure(parts, () => reply.raw.destroy())))
}

async function* withBackpressure(parts: AsyncIterable<string>, giveUp: () => void): AsyncGenerator<Buffer, void, undefined> {
  for await (const part of parts) {
    const bytes = Buffer.from(part)
    for (let at = 0; at < bytes.length; at += PIECE) {
      const timer = setTimeout(giveUp, STALL_MS)
      try {
        yield bytes.subarray(at, at + PIECE)
      } finally {
        clearTimeout(timer)
      }
    }
  }
}

interface EventStream<Event> {
  readonly events: AsyncGenerator<Event, void, undefined>
  /** Formats an event, see {@link serverEvent}. */
  readonly format: (event: Event) => string
  /** Text to send in place of the rest after an error. */
  readonly failed: (error: unknown) => string
}

/** Formats a server-sent event, with a name if given. */
export function serverEvent(data: string, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`
}

/** Sends server-sent events (HTML standard, section 9.2). @throws errors before the first event, which have their own status */
export async function sendEvents<Event>(reply: FastifyReply, stream: EventStream<Event>): Promise<FastifyReply> {
  const first = await stream.events.next()
  return streamResponse(reply, 'text/event-stream', written(first, stream))
}

async function* written<Event>(first: IteratorResult<Event, void>, { events, format, failed }: EventStream<Event>) {
  try {
    for (let next = first; next.done !== true; next = yield* withKeepAlive(events.next())) yield format(next.value)
  } catch (error) {
    yield failed(error)
  } finally {
    await events.return()
  }
}

async function* withKeepAlive<Result>(pending: Promise<Result>): AsyncGenerator<string, Result, undefined> {
  for (;;) {
    const over = new AbortController()
    const quiet = delay(KEEP_ALIVE_MS, true, { signal: over.signal, ref: false }).catch(() => false)
    const isQuiet = await Promise.race([pending.then(() => false), quiet])
    over.abort()
    if (!isQuiet) return pending
    yield COMMENT
  }
}
