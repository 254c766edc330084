import type { SearchFilter } from './filter-schema.ts'
import type { PassageMetadata } from './passage-metadata.ts'

export type { SearchFilter } from './filter-schema.ts'

/** One unit of retrieval: about a hundred words of a document. */
export interface Passage {
  readonly id: string
  readonly title: string
  readonly text: string
  /** Where the passage came from (a file's name, a URL), if the source said so. Usable as a filter. */
  readonly source?: string
  /** What else is said of it. Usable as a filter. */
  readonly metadata?: PassageMetadata
}

/** A passage found for a query. */
export interface SearchHit extends Passage {
  /** Dot product of query and passage embedding (Contriever is trained without normalisation); BM25 for a text search. */
  readonly score: number
  /** 1 for the best. */
  readonly rank: number
}

/**
 * Embeds texts with the model that the index was made with; one vector of `dimension` numbers per text, in order.
 * Passages are embedded as "title text" (Contriever's own indexing script), questions as they are.
 */
export type Embed = (texts: readonly string[], signal?: AbortSignal) => Promise<Float32Array[]>

/** What the index must know of the embedding model: vectors of another model cannot be compared. */
export interface EmbeddingModel {
  /** Changes whenever the model's graphs, weights, precision or tokenizer change. */
  readonly id: string
  /** Numbers per vector. */
  readonly dimension: number
}

/** The loaded models: tables of any of them are searched and changed; new tables are made with `model`. */
export interface Models {
  readonly model: EmbeddingModel
  /** None where absent. */
  readonly furtherModels?: readonly EmbeddingModel[]
}

/** All loaded models, that of new tables first. */
export function allModels({ model, furtherModels = [] }: Models): readonly EmbeddingModel[] {
  return [model, ...furtherModels]
}

export interface SearchOptions {
  /** Hits wanted; fewer come back only where fewer match. */
  readonly k: number
  readonly filter?: SearchFilter
}

/** What is being searched: reported with every answer. */
export interface IndexInfo {
  /** Name that users give (the alias). */
  readonly table: string
  /** Table on disk that the alias points at now. */
  readonly storedAs: string
  /** LanceDB's version number; grows with every commit. */
  readonly version: number
  readonly rows: number
  readonly dimension: number
  readonly model: string
  readonly schemaVersion: number
  /** `exact`: every vector is compared; `ivf_rq`: inverted lists with RaBitQ codes, best candidates refined with the stored vectors. */
  readonly kind: 'exact' | 'ivf_rq'
  /** Partitions read per query; 0 for an exact scan. */
  readonly nprobes: number
  /** Candidates refined per hit wanted; 0 for an exact scan. */
  readonly refine: number
  /** recall@10 that was measured when the settings were chosen, of stored vectors and of questions the lower; null for an exact scan. */
  readonly recall: number | null
  /** That of questions alone; null where it was not measured. */
  readonly questionRecall: number | null
  /** Rows that the vector index does not cover yet; they are scanned exactly. */
  readonly unindexedRows: number
  readonly fullText: boolean
}

/** The text that is embedded for a passage. */
export function passageText(passage: Passage): string {
  return passage.title === '' ? passage.text : `${passage.title} ${passage.text}`
}
