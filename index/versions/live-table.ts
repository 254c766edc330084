import { storeOf } from '../store/store-of.ts'
import { aliasStamp, createAlias, readAlias, storedName, tableFolder } from './alias.ts'
import { TableSync } from '../table/table-sync.ts'
import { CodedError, messageOf } from '../../base/errors.ts'
import { connectForWriting, prewarm, type Connection, type Table } from '../table/lance.ts'
import type { TableMetadata } from '../table/metadata.ts'
import { createTable } from '../table/create.ts'
import { fitModel, migratedMetadata, unfitSchema } from './compatibility.ts'
import { openServing } from './recover.ts'
import type { EmbeddingModel, Models } from '../contract.ts'

/** How often a table is looked at that nobody asks: well below the time after which a replaced table's files are removed. */
const WATCH_MS = 2000

/** The stored table behind an alias at one moment, of whatever model: enough for all that needs no vectors. */
export interface LiveTexts {
  readonly table: Table
  readonly storedAs: string
  readonly metadata: TableMetadata
  readonly sync: TableSync
}

/** One that can be searched. */
export interface Live extends LiveTexts {
  /** Of its vectors, by the name that it has here. */
  readonly model: EmbeddingModel
}

/** One that is to be changed. */
export type ForWriting<Of extends LiveTexts> = Of & {
  /** The same table, for what goes on beside changes. */
  readonly idle: Table
}

export interface LiveTableOptions extends Models {
  readonly dir: string
  readonly connection: Connection
  readonly name: string
  readonly consistencyMs: number
  readonly onWarning: (message: string) => void
  /** Nothing is migrated or repaired. */
  readonly readOnly?: boolean
}

/** A stored table that cannot be searched, and why. */
interface Incompatible {
  readonly error: CodedError
  readonly storedAs: string
  /** Where only its model keeps it from being searched. */
  readonly texts?: LiveTexts
}

/**
 * Follows an alias: gives the table it points at, and looks every `consistencyMs`, when it is used, whether it points at
 * another. Readers never wait for that: the table before answers until the new one is open and its indexes are in
 * memory, and also while a look fails for a passing reason. Only a finding is passed on: no table, or one that does not fit.
 * Where a table was replaced by one that does not fit, the one before goes on answering, until its files are gone.
 */
export class LiveTable {
  readonly #options: LiveTableOptions
  #held: { readonly live: Live; readonly stamp: string } | undefined
  /** Why the table cannot be used, as found by the last look that came to an end. */
  #verdict: Incompatible | undefined
  #checkedAt = -Infinity
  #checking: Promise<Live | undefined> | undefined
  #next: Promise<Live | undefined> | undefined
  #watch: NodeJS.Timeout | undefined
  /** What kept the last look from coming to an end. */
  #trouble: string | undefined
  #writing: Connection | undefined
  #written: Table | undefined

  constructor(options: LiveTableOptions) {
    this.#options = options
  }

  /** The live table, or undefined if there is none yet. @throws index_invalid for one that does not fit model or software. */
  async find(): Promise<Live | undefined> {
    const held = this.#held?.live
    if (held === undefined || this.#verdict !== undefined) return this.refresh()
    if (performance.now() - this.#checkedAt >= this.#options.consistencyMs) this.#look()
    return held
  }

  /** Looks, beginning now, and waits for what it finds: a look that is under way may have begun before the caller's cause. */
  refresh(): Promise<Live | undefined> {
    if (this.#checking === undefined) return this.#begin()
    this.#next ??= this.#checking
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.#begin()
      })
    return this.#next
  }

  /** Why the table that replaced the one that answers does not; undefined where the newest one answers. */
  behind(): CodedError | undefined {
    const replaced = this.#held !== undefined && this.#verdict !== undefined && this.#verdict.storedAs !== this.#held.live.storedAs
    return replaced ? this.#verdict?.error : undefined
  }

  /** The table to read. @throws index_missing if there is none yet; index_invalid for one that does not fit, where it replaced none that does. */
  async get(): Promise<Live> {
    // The watch goes on looking.
    if (this.#held !== undefined && this.behind() !== undefined) return this.#held.live
    const live = await this.find()
    if (live === undefined) throw this.#missing()
    return live
  }

  /** As `get`, and where there is none, the one that only its model keeps from being searched. */
  getTexts(): Promise<LiveTexts> {
    return this.#orTexts(this.get())
  }

  /**
   * The live table for writing vectors, in the table's turn: nobody can put another in its place until the turn is over. Made if there is none.
   * @throws index_invalid for one that does not fit.
   */
  async getForWriting(): Promise<ForWriting<Live>> {
    this.#checkWritable()
    const { dir, name } = this.#options
    if ((await readAlias(dir, name)) === undefined) await this.#create()
    return this.#forWriting(await this.#newest())
  }

  /** The live table for removing rows, of whatever model. @throws index_missing if there is none, else as `getForWriting` */
  async getForDeleting(): Promise<ForWriting<LiveTexts>> {
    this.#checkWritable()
    return this.#forWriting(await this.#orTexts(this.#newest()))
  }

  #checkWritable(): void {
    if (this.#options.readOnly === true)
      throw new CodedError('forbidden', 'This process only reads the index: send changes to the one that writes it.')
  }

  /** The table that the alias points at now. */
  async #newest(): Promise<Live> {
    const { dir, name } = this.#options
    const alias = await readAlias(dir, name)
    const held = this.#verdict === undefined ? this.#held?.live : undefined
    const live = held !== undefined && alias?.stored_as === held.storedAs ? held : await this.refresh()
    if (live === undefined) throw this.#missing()
    return live
  }

  async #orTexts(finding: Promise<Live>): Promise<LiveTexts> {
    try {
      return await finding
    } catch (error) {
      const { texts, error: why } = this.#verdict ?? {}
      if (texts === undefined || why !== error) throw error
      return texts
    }
  }

  async #forWriting<Of extends LiveTexts>(live: Of): Promise<ForWriting<Of>> {
    const { dir } = this.#options
    const writable = storeOf(dir).locksCanBeLost ? { ...live, table: await this.#writable(live.storedAs) } : live
    // A merge sees the rows of the version that its handle is at: it must be the newest.
    await writable.table.checkoutLatest()
    return { ...writable, idle: live.table }
  }

  /** Where locks can be lost, a handle that nothing but changes moves on. */
  async #writable(storedAs: string): Promise<Table> {
    if (this.#written?.storedAs === storedAs) return this.#written
    const { dir, onWarning } = this.#options
    this.#writing ??= await connectForWriting(dir)
    this.#written?.close()
    this.#written = await openServing(this.#writing, dir, storedAs, onWarning)
    return this.#written
  }

  close(): void {
    clearInterval(this.#watch)
    this.#written?.close()
    this.#writing?.close()
  }

  #begin(): Promise<Live | undefined> {
    this.#checking = this.#check().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  /** A look that nobody waits for. */
  #look(): void {
    if (this.#checking !== undefined) return
    // Not again at once where it fails.
    this.#checkedAt = performance.now()
    this.#begin().then(
      () => (this.#trouble = undefined),
      (error: unknown) => {
        // Once for each obstacle: a store that is away is looked for twice a second.
        if (this.#trouble !== messageOf(error)) this.#options.onWarning(messageOf(error))
        this.#trouble = messageOf(error)
      },
    )
  }

  async #create(): Promise<void> {
    const { dir, name, connection, model } = this.#options
    const storedAs = storedName(name)
    const table = await createTable(connection, storedAs, model)
    table.close()
    await TableSync.distrusting(tableFolder(dir, storedAs)).flush()
    if (!(await createAlias(dir, name, { stored_as: storedAs }))) await connection.dropTable(storedAs)
  }

  async #check(): Promise<Live | undefined> {
    const began = performance.now()
    const stamp = await aliasStamp(this.#options.dir, this.#options.name)
    const found = this.#held?.stamp === stamp ? await this.#again(this.#held.live) : await this.#open()
    if (found !== undefined && 'error' in found) {
      this.#verdict = found
      throw found.error
    }
    this.#held = found === undefined ? undefined : { stamp, live: found }
    this.#verdict = undefined
    this.#checkedAt = began
    this.#keepWatch()
    return found
  }

  /** The table that is held, with what it says of itself now. */
  async #again({ table, sync }: Live): Promise<Live | Incompatible> {
    return this.#checkCompatible(table, () => Promise.resolve(sync))
  }

  /** What a table says of itself, and whether it can be searched with the models at hand. */
  async #checkCompatible(table: Table, syncOf: () => Promise<TableSync>): Promise<Live | Incompatible> {
    const { name, readOnly } = this.#options
    const { storedAs } = table
    const metadata = await migratedMetadata(table, readOnly)
    const error = unfitSchema(name, metadata)
    if (error !== undefined) return { error, storedAs }
    const texts = { table, storedAs, metadata, sync: await syncOf() }
    const model = fitModel(name, metadata, this.#options)
    return model instanceof CodedError ? { error: model, storedAs, texts } : { ...texts, model }
  }

  /** The table that the alias points at. */
  async #open(): Promise<Live | Incompatible | undefined> {
    const { dir, name, connection, onWarning, readOnly } = this.#options
    const storedAs = (await readAlias(dir, name))?.stored_as
    if (storedAs === undefined) return undefined
    const opened = [this.#held?.live, this.#verdict?.texts].find((one) => one?.storedAs === storedAs)
    const table = opened?.table ?? (await openServing(connection, dir, storedAs, readOnly ? undefined : onWarning))
    const found = await this.#checkCompatible(table, () =>
      opened ? Promise.resolve(opened.sync) : TableSync.start(tableFolder(dir, storedAs)),
    )
    if ('error' in found) {
      if (opened === undefined && found.texts === undefined) table.close()
      return found
    }
    if (opened === undefined && found.metadata.ann !== undefined) await prewarm(table)
    // The table before it is not closed: searches may be under way in it. It goes when they have ended.
    return found
  }

  /** A service that is asked nothing must not find, with its next question, that its table was replaced and removed. */
  #keepWatch(): void {
    this.#watch ??= setInterval(() => {
      if (performance.now() - this.#checkedAt >= WATCH_MS) this.#look()
    }, WATCH_MS).unref()
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
