import { isUtf8 } from 'node:buffer'
import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { orAbsent, requireRegular } from './exists.ts'
import { eventLoopTurn } from './event-loop-turn.ts'

/**
 * Paths of all files in a folder and below it, unordered. Skips files that are removed during the walk, and only those: Node's own
 * recursive reading fails if one folder disappears. A missing folder has no files.
 */
export async function filesUnder(folder: string): Promise<string[]> {
  const entries = (await orAbsent(readdir(folder, { withFileTypes: true }))) ?? []
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return filesUnder(path)
      return entry.isFile() ? [path] : []
    }),
  )
  return found.flat()
}

/**
 * The bytes of a file, which is opened when the first piece is read: a stream that is opened earlier and fails before it is read ends the
 * process, since nothing listens to its error yet.
 * @throws as requireRegular
 */
export async function* fileBytes(path: string, chunkBytes = 64 * 1024): AsyncGenerator<Buffer> {
  await requireRegular(path)
  yield* createReadStream(path, { highWaterMark: chunkBytes }) as AsyncIterable<Buffer>
}

/** The first bytes of a file; fewer if it is shorter. */
export async function headOf(path: string, bytes: number): Promise<Buffer> {
  for await (const head of fileBytes(path, bytes)) return head
  return Buffer.alloc(0)
}

/** SHA-256 (hex) of a file's content, streamed. @throws the signal's reason once aborted */
export async function sha256OfFile(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of fileBytes(path, 1 << 20)) {
    signal?.throwIfAborted()
    hash.update(chunk)
  }
  return hash.digest('hex')
}

/** A stream whose chunks are hashed as they are read. */
export async function* hashing(hash: Hash, bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    hash.update(chunk)
    yield chunk
  }
}

/** The name of an entry of a ZIP archive. Some programs write UTF-8 without its flag, which yauzl reads as code page 437. */
export function zipName({ fileName, fileNameRaw }: { readonly fileName: string; readonly fileNameRaw: Buffer }): string {
  return isUtf8(fileNameRaw) ? fileNameRaw.toString() : fileName
}

export interface Line {
  readonly line: number
  readonly text: string
  readonly crlf?: boolean
}

/** A line that cannot be read. */
export interface BadLine {
  readonly line: number
  readonly reason: 'bad_utf8' | 'line_too_long'
  /** The problem, as a sentence. */
  readonly detail: string
}

/** Decodes a line, or an element of an array, by its number. */
export function decoded(line: number, bytes: Buffer): Line | BadLine {
  return isUtf8(bytes) ? { line, text: bytes.toString('utf8') } : { line, reason: 'bad_utf8', detail: 'The line is not valid UTF-8.' }
}

const NEWLINE = 0x0a
const RETURN = 0x0d
const BOM = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Splits a byte stream at newlines (LF or CRLF). A byte order mark at the start of any line is dropped, since
 * concatenated files contain several. A line above `maxBytes` is yielded as a rejection, as is one that is not UTF-8; its bytes are not kept.
 */
export async function* readLines(bytes: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Line | BadLine> {
  let held: Buffer[] = []
  let heldBytes = 0
  let line = 1
  const turn = eventLoopTurn()
  const finish = (last: Buffer): Line | BadLine => {
    const total = heldBytes + last.length
    const at = line++
    const whole = total > maxBytes ? Buffer.alloc(0) : Buffer.concat([...held, last])
    held = []
    heldBytes = 0
    if (total > maxBytes) return { line: at, reason: 'line_too_long', detail: `The line has ${total} bytes; at most ${maxBytes} are read.` }
    const crlf = whole.at(-1) === RETURN
    return { ...decoded(at, whole.subarray(whole.subarray(0, 3).equals(BOM) ? 3 : 0, crlf ? -1 : undefined)), crlf }
  }
  for await (const chunk of bytes) {
    let from = 0
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      if (turn.isOver()) await turn.next()
      yield finish(chunk.subarray(from, to))
      from = to + 1
    }
    const rest = chunk.subarray(from)
    heldBytes += rest.length
    if (heldBytes > maxBytes) held = []
    else if (rest.length > 0) held.push(rest)
  }
  if (heldBytes > 0) yield finish(Buffer.alloc(0))
}

/** The resource, closed at the end of its block: `await using client = closing(await connect())`. */
export function closing<Resource extends { close(): unknown }>(resource: Resource): Resource & AsyncDisposable {
  return Object.assign(resource, {
    [Symbol.asyncDispose]: async () => {
      await resource.close()
    },
  })
}

/** A folder that is removed at the end of its block. @param prefix its path, which random characters complete */
export async function temporaryFolder(prefix: string) {
  const path = await mkdtemp(prefix)
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
