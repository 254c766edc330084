import type { CodedError } from '../base/errors.ts'
import type { ListOptions } from './search/list.ts'
import type { EmbeddingModel, Models, Passage, SearchFilter } from './contract.ts'
import type { IndexInfo, TableVersion, TableView } from './view.ts'
import type { DocumentEnd } from './write/change-rows.ts'

export interface UpsertOptions {
  /** Model of the vectors. Default: `model`. */
  readonly by?: EmbeddingModel
  /** Documents that are complete with these passages: their other passages are deleted. */
  readonly ends?: readonly DocumentEnd[]
}

/** Passages in LanceDB under one name. All methods may be called concurrently. */
export interface PassageIndex extends Models {
  /** Folder of the tables, or its address in an object store. */
  readonly dir: string
  readonly table: string
  /** The current table, to be searched with vectors of its own model. @throws index_missing, index_invalid */
  view(): Promise<TableView>
  /** The model for embedding passages to write: the table's, or `model` if there is no table yet. @throws index_invalid */
  writtenWith(): Promise<EmbeddingModel>
  /** Why the newest table is not used here; undefined if it is. */
  behind(): CodedError | undefined
  /** Checks that the table can be read and written to. @returns the last rollback @throws store_unavailable, index_missing, index_invalid */
  check(): Promise<Date | undefined>
  get(id: string): Promise<Passage | undefined>
  /**
   * Returns the passages that are absent or stored with other content, which must be embedded and upserted. The others are confirmed: no
   * running job will overwrite them with older content.
   */
  changed(passages: readonly Passage[]): Promise<Passage[]>
  /**
   * Inserts or replaces passages by id; durable when it resolves.
   * @param vectors one per passage
   * @throws conflict (`ModelChangedError`) if the table is of another model by then: nothing was written
   */
  upsert(passages: readonly Passage[], vectors: readonly Float32Array[], options?: UpsertOptions): Promise<void>
  /** Deletes by ids or by filter; durable when it resolves with the number deleted. */
  delete(which: readonly string[] | SearchFilter): Promise<number>
  count(filter?: SearchFilter): Promise<number>
  /** A page of passages ordered by id. */
  list(options: ListOptions): Promise<Passage[]>
  /** All passages of the version that is live when reading starts. */
  export(filter?: SearchFilter): AsyncGenerator<Passage>
  /** Passages of each source, most first; reads a column of the whole table. */
  sources(): Promise<{ readonly source: string; readonly passages: number }[]>
  /** Titles of up to `count` passages spread over the table; cheap for any size. */
  titles(count: number): Promise<string[]>
  /** Name, version and size of the table; cheap enough for every question. */
  version(): Promise<TableVersion>
  /** Full information on the table. @throws index_missing if there is no table yet */
  info(): Promise<IndexInfo>
  /** Makes all previous writes, and the current table, visible to the next read, without waiting for `consistencyMs`. */
  refresh(): Promise<void>
  close(): void
}
