import { access, constants } from 'node:fs/promises'
import { CodedError, messageOf } from '../../base/errors.ts'
import { failureOf, inFolder } from '../../base/failures.ts'
import { allModels, type EmbeddingModel, type EmbedOf, type Models, type TableLocation } from '../contract.ts'
import { storeOf } from '../store/store-of.ts'
import { createTable } from '../table/create.ts'
import { connectForWriting, type Connection, prewarm, type Table, writing } from '../table/lance.ts'
import { lacksVersion } from '../table/manifest.ts'
import { type TableMetadata, writeModel } from '../table/metadata.ts'
import { type Agreement, agreementWith } from '../table/sample.ts'
import { TableSync } from '../table/table-sync.ts'
import type { WordLanguage } from '../word-languages.ts'
import {
  aliasStamp,
  checkFolder,
  checkTable,
  createAlias,
  lostTable,
  missingTable,
  readAlias,
  storedName,
  storedNameOf,
  tableFolder,
} from './alias.ts'
import { fitModel, migratedMetadata, relatedModel, unfitSchema } from './compatibility.ts'
import { damageOf, openStored, requireWhole, rolledBackAt } from './recover.ts'

/**
 * Makes an empty table and puts it behind a name; durable when it returns. To be called under the writer lock.
 * @param language of the word index; detected by default
 * @returns false where another process put one there first: nothing is made then
 */
export async function createLiveTable(
  connection: Connection,
  { dir, table: name, model }: TableLocation & Pick<Models, 'model'>,
  language?: WordLanguage,
): Promise<boolean> {
  const location = { dir, table: name }
  const storedAs = storedName(name)
  const folder = tableFolder(dir, storedAs)
  try {
    const table = await createTable(connection, storedAs, model, language)
    table.close()
    await TableSync.distrusting(folder).flush()
    return await createAlias(location, storedAs)
  } catch (error) {
    return inFolder(dir)(error)
  } finally {
    // On a failing store the error above is the one to report, and the table may be behind its name.
    if ((await readAlias(location).catch(() => storedAs)) !== storedAs) await storeOf(dir).files.removeTree(folder)
  }
}

/** Polling interval for an idle table: well below the retention of a replaced table's files. */
const WATCH_MS = 2000

/** Where each read is a request, a table is looked through for missing files at this interval. */
const WHOLE_MS = 30_000

/** The stored table behind an alias at one moment, of any model: sufficient for operations without vectors. */
export interface LiveTexts {
  readonly table: Table
  readonly metadata: TableMetadata
  readonly sync: TableSync
}

/** A table that can be searched. */
export interface Live extends LiveTexts {
  /** Loaded model of its vectors. */
  readonly model: EmbeddingModel
}

/** A table to write to. */
export type ForWriting<Of extends LiveTexts> = Of & {
  /** The same table, for work concurrent with writes. */
  readonly idle: Table
}

/** The models are those that embed passages and questions. */
export interface LiveTableOptions extends Models, TableLocation {
  /** Commits and replacements by other processes become visible within this time. */
  readonly consistencyMs: number
  /** Called with damage that was repaired or worked around. */
  readonly onWarning: (message: string) => void
  /** Creates, migrates and repairs nothing, and rejects changes: for replicas. */
  readonly readOnly?: boolean
  /** The error for a table that was removed, if writes do not make one. */
  readonly removed?: () => CodedError
  /** Compares tables of earlier builds of the models. Without it they must be embedded again. */
  readonly embedOf?: EmbedOf | undefined
}

/** How much vectors of two builds of a model may differ: 16-bit floats and the order of sums alone. */
const EQUAL: Agreement = { cosine: 0.9999, length: 0.005 }

/** A stored table that cannot be searched, and the reason. */
interface Incompatible {
  readonly error: CodedError
  readonly storedAs: string
  /** Set if only its model prevents searches. */
  readonly texts?: LiveTexts
}

/**
 * Follows an alias: returns the table it points at, and checks on use, every `consistencyMs`, whether it has changed. Readers never wait
 * for a check: the previous table serves until the new one is open and its indexes are in memory, and while a check fails for a transient
 * reason. Only definite results are passed on: no table, or an incompatible one. If a table was replaced by an incompatible one, the
 * previous one serves until its files are gone.
 */
export class LiveTable {
  #held: Live | undefined
  /** Why the table cannot be used, by the last completed check. */
  #verdict: Incompatible | undefined
  /** How much tables of another build of a model differ from it. */
  readonly #compared = new Map<string, Agreement>()
  #checkedAt = -Infinity
  #checking: Promise<Live | undefined> | undefined
  #next: Promise<Live | undefined> | undefined
  #watch: NodeJS.Timeout | undefined
  /** Why the last check did not complete. */
  #trouble: string | undefined
  #writing: Connection | undefined
  #written: Table | undefined
  /** The table in which the last look found no file missing. */
  #whole: { readonly storedAs: string; readonly at: number } | undefined

  constructor(
    private readonly connection: Connection,
    private readonly options: LiveTableOptions,
  ) {}

  /** The live table; undefined if there is none yet. @throws index_invalid if model or schema are incompatible */
  async find(): Promise<Live | undefined> {
    const held = this.#held
    if (held === undefined || this.#verdict !== undefined) return this.refresh()
    if (performance.now() - this.#checkedAt >= this.options.consistencyMs) this.#look()
    return held
  }

  /** Starts a check and waits for it: a running check may have started before the caller's change. */
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

  /** Why the newest table is not used; undefined if it is. */
  behind(): CodedError | undefined {
    return this.#held !== undefined && this.#verdict?.storedAs !== this.#held.table.storedAs ? this.#verdict?.error : undefined
  }

  /**
   * Checks that the folder can be written to, unless read-only, and that alias, manifests and files of the table are sound by size and ending.
   * @returns when the table was last rolled back
   * @throws store_unavailable, index_missing, index_invalid
   */
  async check(): Promise<Date | undefined> {
    const { dir, readOnly } = this.options
    const { table, sync } = await this.getTexts()
    const { storedAs } = table
    if (readOnly !== true && !storeOf(dir).durable) await access(dir, constants.W_OK)
    const isFresh = storeOf(dir).slowReads && this.#whole?.storedAs === storedAs && performance.now() - this.#whole.at < WHOLE_MS
    if (!isFresh) {
      await readAlias(this.options)
      const damaged = await damageOf(dir, storedAs, await sync.recorded())
      if (damaged !== undefined) throw damaged
      this.#whole = { storedAs, at: performance.now() }
    }
    return rolledBackAt(dir, storedAs)
  }

  /** Maps an error of an operation on the table to its cause. @param storedAs the table that was read */
  async explained(error: unknown, storedAs = this.#held?.table.storedAs): Promise<Error> {
    const { dir, removed } = this.options
    const isKnown = error instanceof CodedError
    if (isKnown && (removed === undefined || !['index_missing', 'index_invalid'].includes(error.code))) return error
    const findCause = async (): Promise<Error | undefined> => {
      await checkFolder(dir)
      if (removed !== undefined && (await readAlias(this.options)) === undefined) return removed()
      await checkTable(this.options)
      if (isKnown || storedAs === undefined) return undefined
      if ((await storedNameOf(this.options)) === storedAs) return damageOf(dir, storedAs)
      await this.refresh()
      return replaced()
    }
    const cause = await findCause().catch((thrown: unknown) => failureOf(thrown))
    return this.behind() ?? cause ?? failureOf(error) ?? (error instanceof Error ? error : new Error(messageOf(error)))
  }

  /** The table to read. @throws index_missing if there is none yet; index_invalid if it is incompatible and there is no previous one */
  async get(): Promise<Live> {
    // The watch keeps checking.
    if (this.#held !== undefined && this.behind() !== undefined) return this.#held
    const live = await this.find()
    if (live === undefined) throw await missingTable(this.options)
    return live
  }

  /** As `get`, but also returns a table that only its model prevents from being searched. */
  getTexts(): Promise<LiveTexts> {
    return this.#orTexts(this.get())
  }

  /**
   * The live table for writing vectors, under its writer lock, so that it cannot be replaced meanwhile. Created if there is none.
   * @throws index_invalid if it is incompatible; index_missing if there is none and one is required
   */
  async getForWriting(): Promise<ForWriting<Live>> {
    this.#checkWritable()
    const { table, removed, onWarning } = this.options
    const isMissing = removed === undefined && (await readAlias(this.options)) === undefined
    const isFirst = isMissing && (await lostTable(this.options)) === undefined
    if (isFirst && (await createLiveTable(this.connection, this.options)))
      onWarning(`The table "${table}" did not exist and was created, empty.`)
    return this.#forWriting(await this.#newest())
  }

  /** The live table for deleting rows, of any model. @throws index_missing if there is none, else as `getForWriting` */
  async getForDeleting(): Promise<ForWriting<LiveTexts>> {
    this.#checkWritable()
    return this.#forWriting(await this.#orTexts(this.#newest()))
  }

  #checkWritable(): void {
    if (this.options.readOnly === true)
      throw new CodedError('forbidden', 'This process has read-only access to the index: send changes to the indexer.')
  }

  /** The table that the alias points at now. */
  async #newest(): Promise<Live> {
    const storedAs = await readAlias(this.options)
    const held = this.#verdict === undefined ? this.#held : undefined
    const live = held !== undefined && storedAs === held.table.storedAs ? held : await this.refresh()
    if (live === undefined) throw await missingTable(this.options)
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
    const { dir } = this.options
    const writable = storeOf(dir).locksCanBeLost ? { ...live, table: await this.#writable(live.table.storedAs) } : live
    // A merge reads the rows of its handle's version: it must be the newest.
    await writable.table.checkoutLatest()
    // On top of the version before, a write would hide that the last one is lost.
    const { storedAs } = live.table
    if (await lacksVersion(tableFolder(dir, storedAs), await live.sync.recorded())) await requireWhole(dir, storedAs)
    return { ...writable, idle: live.table }
  }

  /** If locks can be lost: a handle that only writers refresh. */
  async #writable(storedAs: string): Promise<Table> {
    if (this.#written?.storedAs === storedAs) return this.#written
    const { dir, onWarning } = this.options
    this.#writing ??= await connectForWriting(dir)
    this.#written?.close()
    this.#written = await openStored(this.#writing, storedAs, { onWarning })
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

  /** Starts a background check. */
  #look(): void {
    if (this.#checking !== undefined) return
    // Not immediately again after a failure.
    this.#checkedAt = performance.now()
    this.#begin().then(
      () => (this.#trouble = undefined),
      (error: unknown) => {
        // Logged once per problem: an unavailable store is polled twice a second.
        if (this.#trouble !== messageOf(error)) this.options.onWarning(messageOf(error))
        this.#trouble = messageOf(error)
      },
    )
  }

  async #check(): Promise<Live | undefined> {
    const began = performance.now()
    const stamp = await aliasStamp(this.options)
    const live = this.#held?.table.storedAs === stamp ? this.#held : undefined
    const found = await (live === undefined ? this.#open() : this.#checkCompatible(live.table, live.sync)).catch(async (error: unknown) => {
      // Views may be read after the table of a removed collection was closed.
      throw !this.connection.isOpen() || (await aliasStamp(this.options)) !== stamp ? replaced() : error
    })
    if (found !== undefined && 'error' in found) {
      this.#verdict = found
      throw found.error
    }
    this.#held = found
    this.#verdict = undefined
    this.#checkedAt = began
    this.#keepWatch()
    return found
  }

  /** Reads a table's metadata, and checks whether the loaded models can search it. @param known if it was opened before */
  async #checkCompatible(table: Table, known?: TableSync): Promise<Live | Incompatible> {
    const { table: name, dir, readOnly } = this.options
    const { storedAs } = table
    const folder = tableFolder(dir, storedAs)
    const metadata = await migratedMetadata(table, readOnly)
    const error = unfitSchema(name, metadata)
    if (error !== undefined) return { error, storedAs }
    const sync = known ?? (readOnly === true ? TableSync.ofCopy(folder) : await TableSync.start(folder))
    const texts = { table, metadata, sync }
    const model = (await this.#adopted(texts)) ?? fitModel(name, metadata, this.options)
    return model instanceof CodedError ? { error: model, storedAs, texts } : { ...texts, metadata: { ...metadata, model: model.id }, model }
  }

  /**
   * Compares a table of another build of a loaded model with that model, once, and records the model if its vectors are equal.
   * @returns the model; undefined if they are not, or the builds are unrelated
   */
  async #adopted({ table, metadata, sync }: LiveTexts): Promise<EmbeddingModel | undefined> {
    const { embedOf, onWarning, readOnly } = this.options
    const model = relatedModel(metadata, allModels(this.options))
    const embed = model?.id === metadata.model ? undefined : model && embedOf?.(model)
    if (model === undefined || embed === undefined) return undefined
    const { storedAs } = table
    const known = this.#compared.get(storedAs)
    const { cosine, length } = known ?? (await agreementWith(table, embed))
    this.#compared.set(storedAs, { cosine, length })
    const isEqual = cosine >= EQUAL.cosine && length <= EQUAL.length
    if (known === undefined)
      onWarning(
        `The table ${storedAs} was embedded by ${metadata.model}, another build of ${model.id}. The least cosine of a sample is ${cosine.toFixed(8)}: ` +
          (isEqual ? 'the vectors are equal, and the table is adopted.' : 'the vectors differ, and the passages must be embedded again.'),
      )
    if (isEqual && readOnly !== true) {
      await writing(table, () => writeModel(table, model.id))
      await sync.flush()
    }
    return isEqual ? model : undefined
  }

  /** Opens the table that the alias points at. */
  async #open(): Promise<Live | Incompatible | undefined> {
    const { onWarning, readOnly } = this.options
    const storedAs = await readAlias(this.options)
    if (storedAs === undefined) return undefined
    const opened = [this.#held, this.#verdict?.texts].find((one) => one?.table.storedAs === storedAs)
    const table = opened?.table ?? (await openStored(this.connection, storedAs, { onWarning: readOnly ? undefined : onWarning }))
    const found = await this.#checkCompatible(table, opened?.sync)
    if (opened !== undefined) return found
    if ('error' in found) {
      if (found.texts === undefined) table.close()
    } else if (found.metadata.ann !== undefined) await prewarm(table)
    // The previous table is not closed: searches may be running on it. It is collected when they have ended.
    return found
  }

  /** Polls an idle table, so that the next question does not find its table replaced and removed. */
  #keepWatch(): void {
    this.#watch ??= setInterval(() => {
      if (performance.now() - this.#checkedAt >= WATCH_MS) this.#look()
    }, WATCH_MS).unref()
  }
}

function replaced(): CodedError {
  return new CodedError('store_unavailable', 'The table was replaced while it was read: try again.', { retryAfterS: 1 })
}
