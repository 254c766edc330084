import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Connections still open after this time count as held. */
const HELD_MS = 15_000
const HEAD = 'POST /v1/answer HTTP/1.1\r\nHost: x\r\ncontent-type: application/json\r\n'
const QUESTION = '{"question":"q","mode":"closed-book"}'

interface Misuse {
  readonly name: string
  readonly text: string
  /** Single bytes to send, one every 50 ms. */
  readonly trickle?: number
  /** Closes the sending half, or both. */
  readonly end?: 'half' | 'all'
}

const MISUSES: readonly Misuse[] = [
  { name: 'slow headers', text: 'GET /healthz HTTP/1.1\r\nHost: x\r\nX: ', trickle: 400 },
  { name: 'slow body', text: `${HEAD}content-length: 5000\r\n\r\n`, trickle: 400 },
  { name: 'body that never comes', text: `${HEAD}content-length: 5000\r\n\r\n{` },
  {
    name: 'half-closed after a request',
    text: `${HEAD}content-length: ${QUESTION.length}\r\nconnection: close\r\n\r\n${QUESTION}`,
    end: 'half',
  },
  { name: 'half-closed within a body', text: `${HEAD}content-length: 5000\r\n\r\n{"question"`, end: 'half' },
  { name: 'closed at once', text: `${HEAD}content-length: ${QUESTION.length}\r\n\r\n${QUESTION}`, end: 'all' },
  { name: 'chunk size that is none', text: `${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n` },
  { name: 'chunk larger than it says', text: `${HEAD}transfer-encoding: chunked\r\n\r\n3\r\nabcdefgh\r\n0\r\n\r\n` },
  {
    name: 'length and chunks together',
    text: `${HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n`,
  },
  { name: 'two lengths', text: `${HEAD}content-length: 5\r\ncontent-length: 6\r\n\r\nabcdef` },
  { name: 'huge header', text: `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(100_000)}\r\n\r\n` },
  { name: 'many headers', text: `GET /healthz HTTP/1.1\r\nHost: x\r\nconnection: close\r\n${'a: b\r\n'.repeat(5_000)}\r\n` },
  { name: 'no HTTP', text: '\u0016\u0003\u0001\u0002 nonsense\r\n\r\n' },
  { name: 'bare line feeds', text: 'GET /healthz HTTP/1.1\nHost: x\n\n' },
]

/** Misuses connections. @returns the names of those still open after 15 s */
export async function misuse(url: string, rounds: number): Promise<{ readonly connections: number; readonly held: readonly string[] }> {
  const held = new Set<string>()
  const all = Array.from({ length: rounds }, () => MISUSES).flat()
  await Promise.all(
    all.map(async (one) => {
      if (!(await isClosed(url, one))) held.add(one.name)
    }),
  )
  return { connections: all.length, held: [...held] }
}

async function isClosed(url: string, { text, trickle = 0, end }: Misuse): Promise<boolean> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  let closed = false
  const gone = new Promise<void>((resolve) => {
    const done = (): void => {
      closed = true
      resolve()
    }
    socket.once('end', done).once('close', done).on('error', done)
  })
  socket.resume()
  socket.write(text)
  if (end === 'half') socket.end()
  if (end === 'all') socket.destroy()
  for (let i = 0; i < trickle && !closed; i++) {
    socket.write('y')
    await Promise.race([gone, delay(50)])
  }
  await Promise.race([gone, delay(HELD_MS, undefined, { ref: false })])
  socket.destroy()
  return closed
}
