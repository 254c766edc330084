import { dirname } from 'node:path'
import { syncPath } from '../../base/durable.ts'
import { filesUnder } from '../../base/files-under.ts'
import { storeOf } from '../store/store-of.ts'
import { Checksums } from './checksums.ts'

/**
 * LanceDB acknowledges a write before it is on the disk. This forces the files that appeared since it last looked, and records
 * their checksums.
 * Nothing to do in a store that keeps what it acknowledged.
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

  /** Files that exist now are taken as durable: make this before the first write. */
  static async start(folder: string): Promise<TableSync> {
    return new TableSync(folder, new Set(storeOf(folder).durable ? [] : await filesUnder(folder)), new Checksums(folder))
  }

  /** Takes no file as durable: for a table that a killed process was writing. */
  static distrusting(folder: string): TableSync {
    return new TableSync(folder, new Set(), new Checksums(folder))
  }

  /** For a copy of a table, whose files have the checksums of the table that it was copied from. */
  static ofCopy(folder: string): TableSync {
    return new TableSync(folder, new Set())
  }

  /** Returns when everything written so far is on the disk. */
  async flush(): Promise<void> {
    await (
      await this.written()
    )()
  }

  /** As `flush`, and large files have their checksums too. */
  async flushWithChecksums(): Promise<void> {
    await this.flush()
    await this.#checksums?.settled()
  }

  /**
   * Takes note of the files that are there now, all of which must be whole.
   * @returns what forces them onto the disk, beside later writes, whose files it leaves to the next call.
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
