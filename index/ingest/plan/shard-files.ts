import { type FileHandle, open } from 'node:fs/promises'
import { contentHash, RowsDigest } from '../../hash.ts'
import type { Accepted } from '../../read/contract.ts'
import type { jobFiles } from './contract.ts'

const BUFFER_BYTES = 256 * 1024

/** A file of lines, created at the first line and durable once closed. */
export class LineFile {
  readonly #path: string
  #file: FileHandle | undefined
  #waiting: string[] = []
  #bytes = 0

  constructor(path: string) {
    this.#path = path
  }

  async write(line: string): Promise<void> {
    this.#waiting.push(`${line}\n`)
    this.#bytes += line.length
    if (this.#bytes >= BUFFER_BYTES) await this.#flush()
  }

  async close(): Promise<void> {
    try {
      await this.#flush()
      await this.#file?.sync()
    } finally {
      await this.#file?.close()
      this.#file = undefined
    }
  }

  async #flush(): Promise<void> {
    const text = this.#waiting.join('')
    this.#waiting = []
    this.#bytes = 0
    if (text === '') return
    this.#file ??= await open(this.#path, 'w')
    await this.#file.writeFile(text)
  }
}

/** Writes passages to consecutive shard files of `shardRows` rows. */
export class ShardFiles {
  readonly #files: ReturnType<typeof jobFiles>
  readonly #shardRows: number
  #open: LineFile | undefined
  #rows = 0
  #digest = new RowsDigest()
  readonly rows: number[] = []
  /** Digests of the closed shards. */
  readonly digests: string[] = []
  readonly digest = new RowsDigest()

  constructor(files: ReturnType<typeof jobFiles>, shardRows: number) {
    this.#files = files
    this.#shardRows = shardRows
  }

  async write({ passage, parts, whole }: Accepted): Promise<void> {
    const hash = contentHash(passage)
    this.#open ??= new LineFile(this.#files.shard(this.rows.length))
    await this.#open.write(JSON.stringify({ ...passage, hash, parts, whole }))
    this.#digest.add(passage.id, hash)
    if (++this.#rows === this.#shardRows) await this.close()
  }

  /** Closes the open shard durably. */
  async close(): Promise<void> {
    if (this.#open === undefined) return
    await this.#open.close()
    this.rows.push(this.#rows)
    this.digests.push(this.#digest.toString())
    this.digest.addAll(this.#digest)
    this.#open = undefined
    this.#rows = 0
    this.#digest = new RowsDigest()
  }

  async abandon(): Promise<void> {
    await this.#open?.close().catch(() => undefined)
  }
}
