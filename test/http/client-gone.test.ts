import fastify, { type FastifyError, type FastifyRequest } from 'fastify'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { clientSignal } from '../../src/http/request/run-options.ts'
import { reportError } from '../../src/http/errors/describe-error.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { until } from '../helpers/until.ts'
import { rawConnection, testApp } from './helpers.ts'

const QUESTION = '{"question":"q"}'
const REQUEST = `POST /v1/answer HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${QUESTION.length}\r\n\r\n${QUESTION}`

t.test('a client that leaves takes its question along, before the reader is asked', async (t) => {
  const { services } = recordingServices()
  const read: unknown[] = []
  let embedding: (() => void) | undefined
  const signals: AbortSignal[] = []
  const embed: typeof services.retriever.embedder.embed = async (texts, { signal }) => {
    if (signal) signals.push(signal)
    // What the pool does with a request that waits.
    await new Promise<void>((resolve, reject) => {
      embedding = resolve
      signal?.addEventListener('abort', () => reject(new Error('left')))
    })
    return texts.map(() => Float32Array.of(1, 0))
  }
  const answering = {
    ...services,
    retriever: { ...services.retriever, embedder: { ...services.retriever.embedder, embed } },
    reader: {
      ...services.reader,
      answer: (...args: Parameters<typeof services.reader.answer>) => {
        read.push(args)
        return services.reader.answer(...args)
      },
    },
  }
  const { app } = await testApp(t, { answering })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const leaving = await rawConnection(t, url)
  leaving.socket.write(REQUEST)
  while (signals.length === 0) await setTimeout(5)
  leaving.socket.destroy()
  const [signal] = signals
  if (signal && !signal.aborted) await once(signal, 'abort')
  const staying = await rawConnection(t, url)
  staying.socket.write(REQUEST)
  while (signals.length === 1) await setTimeout(5)
  embedding?.()
  while (!staying.received().includes('}')) await setTimeout(5)
  t.match(staying.received(), /^HTTP\/1\.1 200/)
  t.equal(read.length, 1, 'only the question of the client that stayed was read')
})

t.test('a client that left while its request was being looked at has left', async (t) => {
  const app = fastify()
  t.teardown(() => app.close())
  let seen: AbortSignal | undefined
  app.addHook('preHandler', async (_request, reply) => {
    if (!reply.raw.closed) await once(reply.raw, 'close')
  })
  app.post('/v1/answer', (_request, reply) => {
    seen = clientSignal(reply)
    return {}
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const leaving = await rawConnection(t, url)
  leaving.socket.write(REQUEST)
  await setTimeout(50)
  leaving.socket.destroy()
  for (let i = 0; i < 500 && seen === undefined; i++) await setTimeout(10)
  t.equal(seen?.aborted, true)
})

t.test('a client that leaves in the middle of its body is no fault of the service, nor an invalid request', async (t) => {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line) => void lines.push(line) })
  const { app } = await testApp(t, {}, {}, logger)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const part = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.md"\r\n\r\n# A'
  for (const [path, type, body] of [
    ['/v1/answer', 'application/json', '{"question": "wh'],
    ['/v1/answers', 'application/x-ndjson', '{"question": "q"}\n{"qu'],
    ['/v1/chat/completions', 'application/json', '{"model": "ce'],
    ['/mcp', 'application/json', '{"jsonrpc": "2.0"'],
    ['/v1/documents/answer', 'application/json', '{"question": "wh'],
    ['/v1/documents/answer', 'multipart/form-data; boundary=b', part],
    ['/v1/documents/answer', 'multipart/form-data; boundary=b', '--b\r\ncontent-dis'],
  ] as const) {
    lines.length = 0
    const { socket } = await rawConnection(t, url)
    socket.write(`POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: 10000\r\n\r\n${body}`)
    await setTimeout(50)
    socket.destroy()
    await until(() => lines.some((line) => line.includes('request failed')))
    const [failed = ''] = lines.filter((line) => line.includes('request failed'))
    t.match(JSON.parse(failed), { level: 30, code: 'client_closed' }, `${path}, ${type}`)
  }
})

t.test('a client that leaves while its answer is sent is no fault of the service', (t) => {
  const error = Object.assign(new Error('Premature close'), { code: 'ERR_STREAM_PREMATURE_CLOSE' }) as FastifyError
  const levels: string[] = []
  const log = { info: () => levels.push('info'), error: () => levels.push('error') }
  const request = { log, raw: { errored: null }, server: { publicText: (text: string) => text } } as unknown as FastifyRequest
  t.match(reportError(error, request), { status: 499, code: 'client_closed' })
  t.same(levels, ['info'])
  t.end()
})
