import { randomUUID } from 'node:crypto'
import { STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ERROR_STATUS, osCode, type ErrorCode } from '../../../base/errors.ts'
import { errorBody } from './describe-error.ts'

/** Errors of Node's parser with a meaning of their own. */
const MEANINGS = new Map<string | undefined, readonly [ErrorCode, string]>([
  ['HPE_HEADER_OVERFLOW', ['headers_too_large', 'The headers of the request are larger than 16 KiB: send fewer or shorter ones.']],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['request_timeout', 'The request did not arrive in time (CEPE_REQUEST_TIMEOUT_MS).']],
])

/** Responds to invalid or incomplete HTTP requests and closes the connection, whose rest cannot be parsed. */
export function answerClientError(error: Error, socket: Socket): void {
  if (!socket.writable || osCode(error) === 'ECONNRESET') return void socket.destroy()
  const [code, message] = MEANINGS.get(osCode(error)) ?? ['invalid_request', 'Malformed HTTP request.']
  const { status, headers, body } = refusal(code, message)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'))
  // A client that does not read must not keep the connection open.
  setTimeout(() => socket.destroy(), 1_000).unref()
}

/** Rejects `Expect` values other than `100-continue` with the documented body; Node's own rejection has none. */
export function refuseExpectations(server: Server): void {
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const message = 'Unsupported Expect header: only 100-continue is supported.'
    const { status, headers, body } = refusal('expectation_failed', message, 'Expect')
    response.writeHead(status, headers).end(body)
  })
}

function refusal(code: ErrorCode, message: string, field?: string) {
  const id = randomUUID()
  const body = JSON.stringify(errorBody({ code, message, field }, { id }))
  const type = 'application/json; charset=utf-8'
  const headers = { 'content-type': type, 'x-request-id': id, 'content-length': Buffer.byteLength(body), connection: 'close' }
  return { status: ERROR_STATUS[code], headers, body }
}
