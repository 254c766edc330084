import { type FileHandle, open } from 'node:fs/promises'
import { contentHash, rowFingerprint } from '../../hash.ts'
import type { Accepted } from '../../read/contract.ts'
import type { jobFiles } from './contract.ts'

const BUFFER_BYTES = 256 * 1024

/** A file of lines, created at the first line and durable once closed. After a failed write every call throws that error immediately. */
export class LineFile {
  readonly #path: string
  #file: FileHandle | undefined
  #waiting: string[] = []
  #bytes = 0
  #failed: Error | undefined

  constructor(path: string) {
    this.#path = path
  }

  async write(line: string): Promise<void> {
    if (this.#failed !== undefined) throw this.#failed
    this.#waiting.push(`${line}\n`)
    this.#bytes += line.length
    if (this.#bytes >= BUFFER_BYTES) await this.#flush()
  }

  async close(): Promise<void> {
    try {
      if (this.#failed !== undefined) throw this.#failed
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
    try {
      this.#file ??= await open(this.#path, 'w')
      await this.#file.writeFile(text)
    } catch (error) {
      this.#failed = error instanceof Error ? error : new Error(String(error))
      throw error
    }
  }
}

const MOD = 2n ** 64n

/** Writes passages to consecutive shard files of `shardRows` rows. */
export class ShardFiles {
  readonly #files: ReturnType<typeof jobFiles>
  readonly #shardRows: number
  #open: LineFile | undefined
  #rows = 0
  #digest = 0n
  #total = 0n
  /** Rows of each closed shard. */
  readonly rows: number[] = []
  /** Fingerprint sums of the closed shards. */
  readonly digests: string[] = []

  constructor(files: ReturnType<typeof jobFiles>, shardRows: number) {
    this.#files = files
    this.#shardRows = shardRows
  }

  /** Fingerprint sum of all rows. */
  get digest(): string {
    return this.#total.toString(16)
  }

  async write({ passage, parts, whole }: Accepted): Promise<void> {
    const hash = contentHash(passage)
    this.#open ??= new LineFile(this.#files.shard(this.rows.length))
    await this.#open.write(JSON.stringify({ ...passage, hash, parts, whole }))
    this.#digest = (this.#digest + rowFingerprint(passage.id, hash)) % MOD
    if (++this.#rows === this.#shardRows) await this.close()
  }

  /** Closes the open shard durably. */
  async close(): Promise<void> {
    if (this.#open === undefined) return
    await this.#open.close()
    this.rows.push(this.#rows)
    this.digests.push(this.#digest.toString(16))
    this.#total = (this.#total + this.#digest) % MOD
    this.#open = undefined
    this.#rows = 0
    this.#digest = 0n
  }

  /** Discards the open shard. */
  async abandon(): Promise<void> {
    await this.#open?.close().catch(() => undefined)
  }
}
