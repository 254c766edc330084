import { pipeline, Readable, type Transform } from 'node:stream'
import zlib from 'node:zlib'
import { CodedError, invalidCorpus, reasonOf } from '../../base/errors.ts'
import { RATIO_FROM, READ_LIMITS } from './contract.ts'
import { isGzip, isZstd, peek } from './sniff.ts'

/** Expands a stream that is compressed by gzip or Zstandard, as its first bytes tell. @throws as `gunzip` and `unzstd` */
export async function* expanded(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { head, all } = await peek(bytes, 4)
  yield* isGzip(head) ? gunzip(all) : isZstd(head) ? unzstd(all) : all
}

/** Expands a gzip stream. @throws payload_too_large above the limits, corpus_invalid for a damaged or cut-off stream. */
function gunzip(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  return decompressed(bytes, zlib.createGunzip(), 'gzip')
}

/** Expands a Zstandard stream; needs Node.js 22.15 or newer. @throws as `gunzip`, and corpus_invalid on older versions */
function unzstd(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  // Older versions lack the function, whatever the types state.
  const { createZstdDecompress: create } = zlib as Partial<typeof zlib>
  const message = `The file is compressed with zstd, which Node.js ${process.version} does not read: unpack it, compress it with gzip, or run Node.js 22.15 or newer.`
  if (create === undefined) throw invalidCorpus('file', message)
  return decompressed(bytes, create(), 'zstd')
}

async function* decompressed(bytes: AsyncIterable<Buffer>, decoder: Transform, kind: 'gzip' | 'zstd'): AsyncGenerator<Buffer> {
  const { expandedBytes, expansionRatio } = READ_LIMITS
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
  const output = pipeline(Readable.from(counted()), decoder, () => undefined)
  let written = 0
  try {
    for await (const chunk of output as AsyncIterable<Buffer>) {
      written += chunk.length
      if (written > expandedBytes || (written > RATIO_FROM && written > read * expansionRatio))
        throw new CodedError(
          'payload_too_large',
          `The ${kind} stream expands to more than ${written} bytes from ${read}: rejected as a decompression bomb (limits: ${expandedBytes} bytes, ${expansionRatio} times).`,
          { field: kind },
        )
      yield chunk
    }
  } catch (error) {
    if (error instanceof CodedError || sourceError !== undefined) throw sourceError ?? error
    throw invalidCorpus(kind, `The ${kind} stream is damaged or cut off: ${reasonOf(error)}.`, error)
  } finally {
    output.destroy()
  }
}
