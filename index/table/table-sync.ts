import { dirname } from 'node:path'
import { syncPath } from '../../base/durable.ts'
import { filesUnder } from '../../base/files-under.ts'
import { storeOf } from '../store/store-of.ts'
import { Checksums } from './checksums.ts'

/**
 * LanceDB acknowledges a write before it is durable. This fsyncs the files that appeared since the last call and records their checksums.
 * Does nothing if the store is durable.
 */
export class TableSync {
  readonly #folder: string
  readonly #known: Set<string>
  readonly #checksums: Checksums | undefined

  private constructor(folder: string, known: Set<string>, checksums?: Checksums) {
    this.#folder = folder
    this.#known = known
    this.#checksums = checksums
  }

  /** Assumes that existing files are durable: call before the first write. */
  static async start(folder: string): Promise<TableSync> {
    return new TableSync(folder, new Set(storeOf(folder).durable ? [] : await filesUnder(folder)), new Checksums(folder))
  }

  /** Assumes that no file is durable: for a table that a killed process was writing. */
  static distrusting(folder: string): TableSync {
    return new TableSync(folder, new Set(), new Checksums(folder))
  }

  /** For a copy of a table, whose files have the checksums of the original. */
  static ofCopy(folder: string): TableSync {
    return new TableSync(folder, new Set())
  }

  /** Resolves when everything written so far is durable. */
  async flush(): Promise<void> {
    await (
      await this.written()
    )()
  }

  /** As `flush`, and also waits for the checksums of large files. */
  async flushWithChecksums(): Promise<void> {
    await this.flush()
    await this.#checksums?.settled()
  }

  /**
   * Lists the present files, all of which must be complete.
   * @returns a function that fsyncs them, concurrently with later writes, whose files the next call covers
   */
  async written(): Promise<() => Promise<void>> {
    if (storeOf(this.#folder).durable) return () => Promise.resolve()
    const fresh = (await filesUnder(this.#folder)).filter((file) => !this.#known.has(file))
    return async () => {
      const folders = new Set(fresh.map((file) => dirname(file)))
      await Promise.all(fresh.map(syncPath))
      await Promise.all([...folders, this.#folder, dirname(this.#folder)].map(syncPath))
      for (const file of fresh) this.#known.add(file)
      await this.#checksums?.add(fresh)
    }
  }
}
