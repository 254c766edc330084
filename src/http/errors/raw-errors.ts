import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { ERROR_STATUS, osCode, type ErrorCode } from '../../../base/errors.ts'
import { errorBody } from './describe-error.ts'

/** Errors of Node's parser with a meaning of their own. */
const MEANINGS = new Map<string | undefined, readonly [ErrorCode, string]>([
  ['HPE_HEADER_OVERFLOW', ['headers_too_large', 'The headers of the request are larger than 16 KiB: send fewer or shorter ones.']],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['request_timeout', 'The request did not arrive in time (CEPE_REQUEST_TIMEOUT_MS).']],
])

/** Time in which a client may finish sending. Closing a connection with unread data resets it, and the client would not see the response. */
const LINGER_MS = 5_000
const answered = new WeakSet<Socket>()

/** Responds to invalid or incomplete HTTP requests and closes the connection, whose rest cannot be parsed. */
export function answerClientError(error: Error, socket: Socket): void {
  // Each further piece of the rest is another error.
  if (answered.has(socket)) return
  if (!socket.writable || osCode(error) === 'ECONNRESET') return void socket.destroy()
  const [code, message] = MEANINGS.get(osCode(error)) ?? ['invalid_request', 'Malformed HTTP request.']
  const id = randomUUID()
  const body = JSON.stringify(errorBody({ code, message }, { id }))
  socket.end(
    [
      `HTTP/1.1 ${ERROR_STATUS[code]} ${STATUS_CODES[ERROR_STATUS[code]]}`,
      'content-type: application/json; charset=utf-8',
      `x-request-id: ${id}`,
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  )
  answered.add(socket)
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}
