import { contentHash, rowFingerprint } from '../../hash.ts'
import type { Accepted } from '../../read/contract.ts'
import type { jobFiles } from './job-files.ts'
import { LineFile } from './line-file.ts'

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
