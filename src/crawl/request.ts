import { get as httpGet, type IncomingMessage } from 'node:http'
import { get as httpsGet } from 'node:https'
import type { LookupFunction } from 'node:net'
import { pipeline, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip } from 'node:zlib'
import { reasonOf } from '../../base/errors.ts'
import { PageError, type CrawlLimits, type CrawlRules } from './contract.ts'
import { checkLiteral } from './lookup.ts'

interface RequestOptions {
  readonly rules: CrawlRules
  readonly lookup: LookupFunction
  readonly limits: CrawlLimits
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** A response whose body has not been read yet: `body` reads it decompressed, up to a number of bytes, `end` discards it. */
export type PageResponse = Awaited<ReturnType<typeof sendRequest>>

/**
 * Sends a GET request and waits for the headers. Does not follow redirects or keep connections alive: each connects to a checked address.
 * @throws PageError; the signal's reason once aborted
 */
export async function sendRequest(url: URL, { rules, lookup, limits, headers, signal }: RequestOptions) {
  checkLiteral(url.hostname, rules)
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), limits.responseMs)
  const failed = (error: unknown, isDecoding = false): unknown => {
    if (signal.aborted) return signal.reason
    if (late.signal.aborted) return new PageError('timeout', `The response took longer than ${limits.responseMs} ms.`)
    if (error instanceof PageError) return error
    if (isDecoding) return new PageError('damaged', `Its compression is damaged (${reasonOf(error)}).`, error)
    return new PageError('unreachable', `${url.host} cannot be reached, or broke off (${reasonOf(error)}).`, error)
  }
  try {
    const message = await new Promise<IncomingMessage>((resolve, reject) => {
      const send = url.protocol === 'https:' ? httpsGet : httpGet
      const accept = { 'accept-encoding': 'gzip, br', connection: 'close', ...headers }
      const both = AbortSignal.any([signal, late.signal])
      send(url, { agent: false, lookup, headers: accept, signal: both, maxHeaderSize: limits.headerBytes }, resolve).on('error', reject)
    })
    const end = (): void => {
      clearTimeout(timer)
      message.destroy()
    }
    return {
      status: message.statusCode ?? 0,
      headers: message.headers,
      end,
      body: (most: number) => boundedBody(message, { most, failed, end }),
    }
  } catch (error) {
    clearTimeout(timer)
    throw failed(error)
  }
}

/** @param reading.failed converts an error of the connection to a PageError. @throws PageError beyond `most` bytes */
async function* boundedBody(
  message: IncomingMessage,
  { most, failed, end }: { most: number; failed: (error: unknown, isDecoding: boolean) => unknown; end: () => void },
): AsyncGenerator<Buffer> {
  const tooLarge = (): PageError => new PageError('too_large', `It has more than ${most} bytes, decompressed.`)
  let broken = false
  message.on('error', () => (broken = true))
  let decoder: Transform | undefined
  try {
    const { 'content-length': said = '0' } = message.headers
    if (Number(said) > most) throw tooLarge()
    decoder = decoderOf(message)
    const bytes = decoder === undefined ? message : pipeline(message, decoder, () => undefined)
    let read = 0
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      read += chunk.length
      if (read > most) throw tooLarge()
      yield chunk
    }
  } catch (error) {
    throw failed(error, decoder !== undefined && !broken)
  } finally {
    end()
  }
}

function decoderOf({ headers }: IncomingMessage): Transform | undefined {
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (coding === 'identity' || coding === '') return undefined
  if (coding === 'gzip' || coding === 'x-gzip') return createGunzip()
  if (coding === 'br') return createBrotliDecompress()
  throw new PageError('not_supported', `It is sent in the encoding ${coding.slice(0, 40)}, which was not asked for.`)
}
