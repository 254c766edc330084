import type { CodedError } from '../base/errors.ts'
import type { ListOptions } from './search/list.ts'
import type { EmbeddingModel, IndexInfo, Models, Passage, SearchFilter, SearchHit, SearchOptions } from './contract.ts'
import type { TableVersion, TableView } from './view.ts'

/** Passages in LanceDB under one name. Every method may be called at any time and any number of times at once. */
export interface PassageIndex extends Models {
  /** Folder of the tables, or its address in an object store. */
  readonly dir: string
  /** Name of the table. */
  readonly table: string
  /** The table that is read now, to be searched with vectors of its own model. @throws index_missing, index_invalid */
  view(): Promise<TableView>
  /** As of the view of this moment. @param vector of `model`. @throws conflict (`ModelChangedError`) where the table is of a further model */
  search(vector: Float32Array, options: SearchOptions): Promise<SearchHit[]>
  searchText(query: string, options: SearchOptions): Promise<SearchHit[]>
  searchHybrid(query: string, vector: Float32Array, options: SearchOptions): Promise<SearchHit[]>
  /** The model that what is written to the table has to be embedded with: the table's, or `model` where there is none yet. @throws index_invalid */
  writtenWith(): Promise<EmbeddingModel>
  /** Why the table that replaced the one that is read is not read here; undefined where the newest one is read. */
  behind(): CodedError | undefined
  get(id: string): Promise<Passage | undefined>
  /**
   * Those of the passages that are absent or stored with another content: what has to be embedded and upserted. The others
   * are confirmed: no job that is under way puts an older content in their place.
   */
  changed(passages: readonly Passage[]): Promise<Passage[]>
  /**
   * Inserts or replaces passages by id; durable when it returns.
   * @param vectors one per passage
   * @param by the model that made them; `model` where absent
   * @throws conflict (`ModelChangedError`) where the table is of another model by then: nothing was written
   */
  upsert(passages: readonly Passage[], vectors: readonly Float32Array[], by?: EmbeddingModel): Promise<void>
  /** Deletes by ids or by filter; durable when it returns the number deleted. */
  delete(which: readonly string[] | SearchFilter): Promise<number>
  count(filter?: SearchFilter): Promise<number>
  /** A page of passages in the order of their ids. */
  list(options: ListOptions): Promise<Passage[]>
  /** All passages of the version that is live when reading begins. */
  export(filter?: SearchFilter): AsyncGenerator<Passage>
  /** Passages of each source, most first; reads a column of the whole table. */
  sources(): Promise<{ readonly source: string; readonly passages: number }[]>
  /** Titles of up to `count` passages spread over the table: cheap, however large it is. */
  titles(count: number): Promise<string[]>
  /** Name, version and size of what is being searched: cheap enough for every question. */
  version(): Promise<TableVersion>
  /** All that is known of what is being searched. @throws index_missing if there is no table yet. */
  info(): Promise<IndexInfo>
  /** What was written by then, and the table that is there by then, is what the next read sees, instead of within `consistencyMs`. */
  refresh(): Promise<void>
  close(): void
}
