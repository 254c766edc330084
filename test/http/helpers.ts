import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Logger } from 'pino'
import type { Test } from 'tap'
import { CodedError } from '../../base/errors.ts'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import './checked-responses.ts'
import type { Reader } from '../../src/inference/contract.ts'
import type { Services } from '../../src/service/services.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { servicesAround } from '../helpers/services.ts'

export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string; readonly field?: string; readonly request_id: string }
}

/** The application around a reader that says "yes", with settings and services of a test's own. */
export async function testApp(t: Test, changes: Partial<Services> = {}, settings: Record<string, unknown> = {}, logger?: Logger) {
  const { services: answering, asked } = recordingServices()
  const services = await servicesAround(t, answering, changes)
  const app = await buildApp(services, loadConfig({ LOG_LEVEL: 'silent', ...settings }, {}), '0.0.0-test', logger)
  t.teardown(() => app.close())
  const post = (url: string, payload: unknown) =>
    app.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json' },
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    })
  return { app, services, post, answering, asked }
}

/** Services whose reader answers when it is let go. */
export function heldReader() {
  const { services } = recordingServices()
  const held: { go: () => void; fail: (error: Error) => void }[] = []
  const answering = {
    ...services,
    reader: {
      ...services.reader,
      answer: async (...args: Parameters<typeof services.reader.answer>) => {
        await new Promise<void>((resolve, reject) => held.push({ go: resolve, fail: reject }))
        return services.reader.answer(...args)
      },
    },
  }
  return { answering, held }
}

/** A reader that says the words of its answer one by one, each when it is let go; `left` counts those whose askers left. */
export function speakingReader(words: readonly string[]) {
  const { reader } = recordingServices().services
  const held: { go: () => void; fail: (error: Error) => void }[] = []
  let left = 0
  const answer: Reader['answer'] = async (read, run) => {
    let leave = (): void => undefined
    run?.signal?.addEventListener('abort', () => {
      left++
      leave()
    })
    for (const word of words) {
      await new Promise<void>((resolve, reject) => {
        held.push({ go: resolve, fail: reject })
        leave = () => reject(new CodedError('client_closed', 'left'))
      })
      run?.onText?.(word)
    }
    return { ...(await reader.answer(read)), text: words.join('') }
  }
  return { answer, held, left: () => left }
}

export interface RawConnection {
  readonly socket: Socket
  /** What has been received so far. */
  received(): string
  /** Resolves when the other side has closed it. */
  readonly closed: Promise<unknown>
}

/** A connection that speaks HTTP byte by byte. */
export async function rawConnection(t: Test, url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  t.teardown(() => socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await once(socket, 'connect')
  return { socket, received: () => text, closed }
}

/** Status and error of a raw response. */
export function parseRaw(response: string): { status: number; headers: string; error: ErrorBody['error'] | undefined } {
  const [headers = '', body = ''] = response.split('\r\n\r\n')
  return {
    status: Number(headers.split(' ')[1]),
    headers,
    error: body === '' ? undefined : (JSON.parse(body) as ErrorBody).error,
  }
}
