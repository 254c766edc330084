import { AppError } from '../errors.ts'

/** Passes a stream on up to a number of bytes. @throws AppError payload_too_large beyond. */
export async function* limitBytes(bytes: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer> {
  let total = 0
  for await (const chunk of bytes) {
    total += chunk.length
    if (total > most) throw new AppError('payload_too_large', `The upload has more than ${most} bytes: put the file into the import folder and name it.`, { field: 'body' })
    yield chunk
  }
}
