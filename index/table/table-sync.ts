import { dirname, join } from 'node:path'
import { syncPath } from '../../base/durable.ts'
import { filesUnder } from '../../base/files.ts'
import { storeOf } from '../store/store-of.ts'
import { Checksums, readChecksums, type Recorded } from './checksums.ts'
import { newestVersion, VERSIONS } from './manifest.ts'

/**
 * LanceDB acknowledges a write before it is durable. This fsyncs the files that have no checksum yet, and records their checksums: they
 * show what was durable. Does nothing if the store is durable.
 */
export class TableSync {
  /** Durable files. */
  readonly #known = new Set<string>()

  private constructor(
    private readonly folder: string,
    private readonly checksums?: Checksums,
  ) {}

  /**
   * For a table that other processes wrote: makes its newest version durable, unless a file of it is missing. Large files without a
   * checksum get none, which would take minutes.
   */
  static async start(folder: string): Promise<TableSync> {
    const sync = TableSync.distrusting(folder)
    if (!storeOf(folder).durable && (await newestVersion(folder)).broken.length === 0) await (await sync.written(false))()
    return sync
  }

  /** For a table that a killed process was writing. */
  static distrusting(folder: string): TableSync {
    return new TableSync(folder, new Checksums(folder))
  }

  /** For a copy of a table, whose files have the checksums of the original. */
  static ofCopy(folder: string): TableSync {
    return new TableSync(folder)
  }

  /** The checksums that all processes have recorded. */
  async recorded(): Promise<Recorded> {
    await this.checksums?.read()
    return this.checksums?.recorded ?? readChecksums(this.folder)
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
    await this.checksums?.settled()
  }

  /**
   * Lists the present files, all of which must be complete.
   * @param large records checksums of large files too
   * @returns a function that fsyncs them, concurrently with later writes, whose files the next call covers
   */
  async written(large = true): Promise<() => Promise<void>> {
    if (storeOf(this.folder).durable) return () => Promise.resolve()
    await this.checksums?.read().catch(() => undefined)
    // First: a manifest that is listed has its files, which a concurrent commit writes before it.
    const manifests = new Set(await filesUnder(join(this.folder, VERSIONS)))
    const isFresh = (file: string): boolean =>
      !this.#known.has(file) && (dirname(file) !== join(this.folder, VERSIONS) || manifests.has(file)) && this.checksums?.has(file) !== true
    const fresh = (await filesUnder(this.folder)).filter(isFresh)
    return async () => {
      const folders = new Set(fresh.map((file) => dirname(file)))
      await Promise.all(fresh.map(syncPath))
      await Promise.all([...folders, this.folder, dirname(this.folder)].map(syncPath))
      if ((await this.checksums?.add(fresh, large)) === false) return
      for (const file of fresh) this.#known.add(file)
    }
  }
}
