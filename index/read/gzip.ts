import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { CodedError, messageOf } from '../../base/errors.ts'
import { RATIO_FROM, type ReadLimits } from './contract.ts'

/**
 * Expands a gzip stream.
 * @throws payload_too_large above the limits, corpus_invalid for a damaged or cut-off stream.
 */
export async function* gunzip(bytes: AsyncIterable<Buffer>, limits: ReadLimits): AsyncGenerator<Buffer> {
  let read = 0
  let sourceError: unknown
  const counted = async function* (): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of bytes) {
        read += chunk.length
        yield chunk
      }
    } catch (error) {
      sourceError = error
      throw error
    }
  }
  const expanded = pipeline(Readable.from(counted()), createGunzip(), () => undefined)
  let written = 0
  try {
    for await (const chunk of expanded as AsyncIterable<Buffer>) {
      written += chunk.length
      if (written > limits.expandedBytes || (written > RATIO_FROM && written > read * limits.expansionRatio)) {
        throw new CodedError(
          'payload_too_large',
          `The gzip stream expands to more than ${written} bytes from ${read}: rejected as a decompression bomb (limits: ${limits.expandedBytes} bytes, ${limits.expansionRatio} times).`,
          { field: 'gzip' },
        )
      }
      yield chunk
    }
  } catch (error) {
    if (error instanceof CodedError || sourceError !== undefined) throw sourceError ?? error
    throw new CodedError('corpus_invalid', `The gzip stream is damaged or cut off: ${messageOf(error)}.`, { field: 'gzip', cause: error })
  } finally {
    expanded.destroy()
  }
}
