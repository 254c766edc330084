import { stat } from 'node:fs/promises'
import { aliasPath, createAlias, readAlias, storedName, tableFolder } from './alias.ts'
import { TableSync } from './durable.ts'
import { IndexError, osCode } from './errors.ts'
import type { Connection, Table } from './lance.ts'
import { readMetadata, type TableMetadata } from './metadata.ts'
import { createTable, SCHEMA_VERSION } from './migrate.ts'
import { openStored } from './recover.ts'
import type { EmbeddingModel } from './types.ts'

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

/** Follows an alias: gives the table it points at, and notices within `consistencyMs` when it is pointed at another. */
export class LiveTable {
  readonly #options: LiveTableOptions
  #held: { readonly live: Live; readonly stamp: string } | undefined
  #checkedAt = -Infinity
  #checking: Promise<Live | undefined> | undefined

  constructor(options: LiveTableOptions) {
    this.#options = options
  }

  /** The live table, or undefined if there is none yet. */
  async find(): Promise<Live | undefined> {
    if (this.#held !== undefined && performance.now() - this.#checkedAt < this.#options.consistencyMs) return this.#held.live
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  /** @throws IndexError index_missing if there is none yet. */
  async get(): Promise<Live> {
    const live = await this.find()
    if (live === undefined) {
      const { name, dir } = this.#options
      throw new IndexError('index_missing', `There is no table "${name}" in ${dir} yet: index a corpus, for instance with \`cepe index add <file>\`.`, 'table')
    }
    return live
  }

  /** The live table for a write; made first if there is none. @throws IndexError conflict while a job replaces it. */
  async getForWriting(): Promise<Live> {
    const { dir, name, connection, model } = this.#options
    const alias = await readAlias(dir, name)
    if (alias !== undefined && alias.replaced_by_job !== null) {
      throw new IndexError('conflict', `Job ${alias.replaced_by_job} is building a new table "${name}" that this change would not be in: wait for it or cancel it.`, 'table')
    }
    if (alias === undefined) {
      const storedAs = storedName(name)
      const table = await createTable(connection, storedAs, model)
      table.close()
      const sync = await TableSync.start(dir)
      await sync.flush()
      if (!(await createAlias(dir, name, { stored_as: storedAs, replaced_by_job: null }))) await connection.dropTable(storedAs)
      this.forget()
    }
    return this.get()
  }

  /** Looks again at the next use. */
  forget(): void {
    this.#checkedAt = -Infinity
  }

  close(): void {
    this.#held?.live.table.close()
    this.#held = undefined
  }

  async #check(): Promise<Live | undefined> {
    const { dir, name, connection, onWarning } = this.#options
    const stamp = await stamped(aliasPath(dir, name))
    if (this.#held !== undefined && this.#held.stamp === stamp) {
      const { live } = this.#held
      this.#held = { stamp, live: { ...live, metadata: await this.#checked(live.table) } }
    } else {
      const alias = await readAlias(dir, name)
      if (alias === undefined || alias.stored_as === null) return undefined
      const storedAs = alias.stored_as
      const table = await openStored(connection, dir, storedAs, onWarning)
      const metadata = await this.#checked(table)
      this.#held?.live.table.close()
      this.#held = { stamp, live: { table, storedAs, metadata, sync: await TableSync.start(tableFolder(dir, storedAs)) } }
    }
    this.#checkedAt = performance.now()
    return this.#held.live
  }

  async #checked(table: Table): Promise<TableMetadata> {
    const metadata = await readMetadata(table)
    const { model } = this.#options
    if (metadata.model !== model.id || metadata.dimension !== model.dimension) {
      throw new IndexError(
        'index_invalid',
        `The table "${this.#options.name}" holds vectors of the model ${metadata.model} (${metadata.dimension} numbers), the service embeds with ${model.id} (${model.dimension}): start it with that model, or index the corpus again with replace.`,
        'model',
      )
    }
    if (metadata.schemaVersion !== SCHEMA_VERSION) {
      throw new IndexError('index_invalid', `The table "${this.#options.name}" has schema version ${metadata.schemaVersion}, this software needs ${SCHEMA_VERSION}: run \`cepe migrate\`.`, 'table')
    }
    return metadata
  }
}

/** Changes whenever the file is replaced. */
const stamped = async (path: string): Promise<string> => {
  try {
    const { ino, mtimeMs, size } = await stat(path)
    return `${ino} ${mtimeMs} ${size}`
  } catch (error) {
    if (osCode(error) === 'ENOENT') return 'none'
    throw error
  }
}
