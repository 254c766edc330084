import { stat } from 'node:fs/promises'
import { aliasPath, createAlias, readAlias, storedName, tableFolder } from './alias.ts'
import { prewarm } from '../search/ann.ts'
import { syncPath } from '../../base/durable.ts'
import { TableSync } from './table-sync.ts'
import { CodedError, osCode, messageOf } from '../../base/errors.ts'
import type { Connection, Table } from './lance.ts'
import { isOfModel, readMetadata, type TableMetadata } from './metadata.ts'
import { createTable, SCHEMA_VERSION } from './migrate.ts'
import { openStored } from './recover.ts'
import type { EmbeddingModel } from '../types.ts'

/** Well below the time after which a replaced table's files are removed: what was last looked at before may be gone. */
const TRUSTED_MS = 2000

/** The stored table behind an alias at one moment. */
export interface Live {
  readonly table: Table
  readonly storedAs: string
  readonly metadata: TableMetadata
  readonly sync: TableSync
}

export interface LiveTableOptions {
  readonly dir: string
  readonly connection: Connection
  readonly name: string
  readonly model: EmbeddingModel
  readonly consistencyMs: number
  readonly onWarning: (message: string) => void
}

/**
 * Follows an alias: gives the table it points at, and looks every `consistencyMs`, when it is used, whether it points at
 * another. The old table answers meanwhile, until the new one is open and its indexes are in memory.
 */
export class LiveTable {
  readonly #options: LiveTableOptions
  #held: { readonly live: Live; readonly stamp: string } | undefined
  #checkedAt = -Infinity
  #checking: Promise<Live | undefined> | undefined
  #failed = false

  constructor(options: LiveTableOptions) {
    this.#options = options
  }

  /** The live table, or undefined if there is none yet. */
  async find(): Promise<Live | undefined> {
    const held = this.#held?.live
    const age = performance.now() - this.#checkedAt
    if (held === undefined || this.#failed || age > TRUSTED_MS) return this.refresh()
    if (age >= this.#options.consistencyMs) {
      this.refresh().catch((error: unknown) => this.#options.onWarning(messageOf(error)))
    }
    return held
  }

  /** Looks now, and waits for what it finds. */
  refresh(): Promise<Live | undefined> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  /** @throws index_missing if there is none yet. */
  async get(): Promise<Live> {
    const live = await this.find()
    if (live === undefined) throw this.#missing()
    return live
  }

  /**
   * The live table for a write, looked up anew so that nothing is written into one that was just replaced.
   * @param create make it if there is none.
   * @throws conflict while a job replaces it.
   */
  async getForWriting(create: boolean): Promise<Live> {
    const { dir, name } = this.#options
    const alias = await readAlias(dir, name)
    if (alias !== undefined && alias.replaced_by_job !== null) {
      throw new CodedError(
        'conflict',
        `Job ${alias.replaced_by_job} is building a new table "${name}" that this change would not be in: wait for it or cancel it.`,
        { field: 'table' },
      )
    }
    if (alias === undefined && create) await this.#create()
    const live = alias !== undefined && alias.stored_as === this.#held?.live.storedAs ? await this.find() : await this.refresh()
    if (live === undefined) throw this.#missing()
    return live
  }

  async #create(): Promise<void> {
    const { dir, name, connection, model } = this.#options
    const storedAs = storedName(name)
    const table = await createTable(connection, storedAs, model)
    table.close()
    await TableSync.distrusting(tableFolder(dir, storedAs)).flush()
    await syncPath(dir)
    if (!(await createAlias(dir, name, { stored_as: storedAs, replaced_by_job: null }))) await connection.dropTable(storedAs)
  }

  async #check(): Promise<Live | undefined> {
    const { dir, name, connection, onWarning } = this.#options
    this.#failed = true
    const stamp = await stamped(aliasPath(dir, name))
    if (this.#held !== undefined && this.#held.stamp === stamp) {
      const { live } = this.#held
      this.#held = { stamp, live: { ...live, metadata: await this.#checked(live.table) } }
    } else {
      const alias = await readAlias(dir, name)
      if (alias === undefined || alias.stored_as === null) {
        this.#held = undefined
        return undefined
      }
      const storedAs = alias.stored_as
      const table = await openStored(connection, dir, storedAs, onWarning)
      const metadata = await this.#checked(table)
      if (metadata.ann !== undefined) await prewarm(table)
      // The table before it is not closed: searches may be under way in it. It goes when they have ended.
      this.#held = { stamp, live: { table, storedAs, metadata, sync: await TableSync.start(tableFolder(dir, storedAs)) } }
    }
    this.#checkedAt = performance.now()
    this.#failed = false
    return this.#held.live
  }

  async #checked(table: Table): Promise<TableMetadata> {
    const metadata = await readMetadata(table)
    const { model } = this.#options
    if (!isOfModel(metadata, model)) {
      throw new CodedError(
        'index_invalid',
        `The table "${this.#options.name}" holds vectors of the model ${metadata.model} (${metadata.dimension} numbers), the service embeds with ${model.id} (${model.dimension}): start it with that model, or index the corpus again with replace.`,
        { field: 'model' },
      )
    }
    if (metadata.schemaVersion !== SCHEMA_VERSION) {
      throw new CodedError(
        'index_invalid',
        `The table "${this.#options.name}" has schema version ${metadata.schemaVersion}, this software needs ${SCHEMA_VERSION}: run \`cepe migrate\`.`,
        { field: 'table' },
      )
    }
    return metadata
  }

  #missing(): CodedError {
    const { name, dir } = this.#options
    return new CodedError(
      'index_missing',
      `There is no table "${name}" in ${dir} yet: index a corpus, for instance with \`cepe index add <file>\`.`,
      { field: 'table' },
    )
  }
}

/** Changes whenever the file is replaced. */
async function stamped(path: string): Promise<string> {
  try {
    const { ino, mtimeMs, size } = await stat(path)
    return `${ino} ${mtimeMs} ${size}`
  } catch (error) {
    if (osCode(error) === 'ENOENT') return 'none'
    throw error
  }
}
