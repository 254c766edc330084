import { createReadStream } from 'node:fs'

/**
 * The bytes of a file, which is opened when the first piece is read: a stream that is opened earlier and fails before it is read ends the
 * process, since nothing listens to its error yet.
 */
export async function* fileBytes(path: string, chunkBytes = 64 * 1024): AsyncGenerator<Buffer> {
  yield* createReadStream(path, { highWaterMark: chunkBytes }) as AsyncIterable<Buffer>
}
