import { CodedError } from '../../base/errors.ts'

/** Forwards a stream up to a number of bytes. @throws payload_too_large beyond it */
export async function* limitBytes(bytes: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer> {
  let total = 0
  for await (const chunk of bytes) {
    total += chunk.length
    if (total > most)
      throw new CodedError(
        'payload_too_large',
        `The upload has more than ${most} bytes: put the file into the import folder and name it.`,
        { field: 'body' },
      )
    yield chunk
  }
}
