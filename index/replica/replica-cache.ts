import { rm } from 'node:fs/promises'
import { type CodedError, messageOf } from '../../base/errors.ts'
import { type Models } from '../contract.ts'
import { aliasAge, aliasPath, readAlias, writeAlias } from '../versions/alias.ts'
import { unservable } from '../versions/compatibility.ts'
import { connectLance } from '../table/lance.ts'
import { readMetadata } from '../table/metadata.ts'
import { RETIRE_MS, TableCopies, type CopyOptions } from './table-copies.ts'

/** Polling interval: a commit or another table is noticed within half of it, on average. */
const DEFAULT_EVERY_MS = 500

interface ReplicaCacheOptions extends CopyOptions {
  readonly table: string
  /** Loaded models: a table of another model does not replace the copy of a usable one. Without it, any table is copied. */
  readonly models?: Models
  readonly everyMs?: number
  /** Called once for each problem. */
  readonly onWarning?: ((message: string) => void) | undefined
}

/**
 * Starts to follow a table. Its immutable files are copied before the manifest that refers to them, and the alias last.
 * @throws disk_full if there is no copy and the table exceeds the limit
 */
export async function startReplicaCache(options: ReplicaCacheOptions): Promise<ReplicaCache> {
  const replicaCache = new ReplicaCache(options)
  await replicaCache.begin()
  replicaCache.follow()
  return replicaCache
}

export class ReplicaCache {
  readonly #options: ReplicaCacheOptions
  readonly #copies: TableCopies
  /** Why the last copy failed; earlier copies stay in use. */
  #trouble: string | undefined
  /** Why the newest table is not copied although the store is available; the copy of the previous one stays in use. */
  #refused: CodedError | undefined
  /** The last table whose model was checked, and why it must not be copied. */
  #judged: { readonly storedAs: string; readonly verdict: CodedError | undefined } | undefined
  /** Time of the last successful check. */
  #checkedAt: Date | undefined
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #closed = false

  constructor(options: ReplicaCacheOptions) {
    this.#options = options
    this.#copies = new TableCopies(options)
  }

  status() {
    return { trouble: this.#trouble, refused: this.#refused, checkedAt: this.#checkedAt }
  }

  /** First check, before any reader: deletes an old copy if the newest table would fit without it. */
  async begin(): Promise<void> {
    await this.#copies.begin()
    await this.sync().catch(() => undefined)
    const { from, to, table } = this.#options
    if (this.#refused?.code !== 'disk_full') return
    const newest = (await readAlias({ dir: from, table })) ?? ''
    if (await this.#copies.fitsAlone(newest)) {
      await rm(aliasPath({ dir: to, table }), { force: true })
      await this.#copies.removeOthers('', '')
      await this.sync().catch(() => undefined)
    } else if ((await readAlias({ dir: to, table })) === undefined) throw this.#refused
  }

  /** Checks now, and resolves when the copy is up to date. @throws the reason if it cannot be */
  sync(): Promise<void> {
    this.#running = (this.#running ?? Promise.resolve()).catch(() => undefined).then(() => this.#sync())
    return this.#running
  }

  follow(): void {
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      this.sync()
        .catch(() => undefined)
        .finally(() => this.follow())
    }, this.#options.everyMs ?? DEFAULT_EVERY_MS).unref()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  async #sync(): Promise<void> {
    const { from, to, table, onWarning } = this.#options
    try {
      const newest = await readAlias({ dir: from, table })
      const mine = await readAlias({ dir: to, table })
      if (newest === undefined) throw new Error(`there is no table "${table}" in ${from}`)
      const replaces = mine !== undefined && mine !== newest
      this.#refuse((replaces ? await this.#judge(newest) : undefined) ?? (await this.#copies.copy(newest)))
      if (this.#refused === undefined) {
        if (mine !== newest) await writeAlias({ dir: to, table }, newest)
        await this.#retire(newest)
      }
      this.#trouble = undefined
      this.#checkedAt = new Date()
    } catch (error) {
      const trouble = `the table cannot be copied from the object store: ${messageOf(error)}`
      if (this.#trouble === undefined) onWarning?.(trouble)
      this.#trouble = trouble
      throw error
    }
  }

  #refuse(why: CodedError | undefined): void {
    if (why !== undefined && why.message !== this.#refused?.message)
      this.#options.onWarning?.(`The replica cache was not updated: ${why.message}`)
    this.#refused = why
  }

  /** Returns why a table must not replace the copy: this process could not search it. */
  async #judge(storedAs: string): Promise<CodedError | undefined> {
    const { from, table: name, models } = this.#options
    if (models === undefined) return undefined
    if (this.#judged?.storedAs === storedAs) return this.#judged.verdict
    using connection = await connectLance(from, undefined)
    const metadata = await readMetadata(await connection.openTable(storedAs))
    const verdict = unservable(name, metadata, models)
    this.#judged = { storedAs, verdict }
    return verdict
  }

  /** Removes copies of replaced tables, after a delay. */
  async #retire(storedAs: string): Promise<void> {
    const { to, table } = this.#options
    if ((await aliasAge({ dir: to, table })) >= RETIRE_MS) await this.#copies.removeOthers(storedAs, `${table}.`)
  }
}
