import { CodedError } from '../base/errors.ts'
import type { SearchFilter } from './filter-schema.ts'
import type { PassageMetadata } from './passage-metadata.ts'

/** The table was replaced by one of another model; nothing was read or written. Embed again and retry. */
export class ModelChangedError extends CodedError {
  constructor(table: string, embedded: EmbeddingModel, found: EmbeddingModel) {
    super(
      'conflict',
      `The vectors are of the model ${embedded.id}, the table "${table}" holds those of ${found.id}: embed with that model, and try again.`,
      { field: 'vector' },
    )
  }
}

export type { SearchFilter } from './filter-schema.ts'

/** Folder of an index, or its address in an object store, and the name of a table. */
export interface TableLocation {
  readonly dir: string
  readonly table: string
}

/** One unit of retrieval: about a hundred words of a document. */
export interface Passage {
  readonly id: string
  readonly title: string
  readonly text: string
  /** Where the passage came from (a file name, a URL), if known. Usable as a filter. */
  readonly source?: string
  /** Further named values. Usable as a filter. */
  readonly metadata?: PassageMetadata
}

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

/** Identity of the embedding model: vectors of different models cannot be compared. */
export interface EmbeddingModel {
  /** Changes whenever the model's graphs, weights, precision or tokenizer change. */
  readonly id: string
  /** Numbers per vector. */
  readonly dimension: number
  /** The part of the id that names the checkpoint and its precision: another build of these may make equal vectors. */
  readonly origin?: string
}

/** True if an id is that of a model, or of another build of the same checkpoint in the same precision, whose vectors may be equal. */
export function isBuildOf(id: string | undefined, model: EmbeddingModel): boolean {
  return id === model.id || (model.origin !== undefined && id?.replace(/-[0-9a-f]{8}$/, '').endsWith(model.origin) === true)
}

/** Embeds passages with a loaded model; undefined until it can. */
export type EmbedOf = (model: EmbeddingModel) => Embed | undefined

/** The loaded models. Tables of any of them can be searched and changed; new tables use `model`. */
export interface Models {
  readonly model: EmbeddingModel
  readonly furtherModels?: readonly EmbeddingModel[]
}

/** All loaded models; the first is that of new tables. */
export function allModels({ model, furtherModels = [] }: Models): readonly EmbeddingModel[] {
  return [model, ...furtherModels]
}

export interface SearchOptions {
  /** Hits wanted; fewer come back only where fewer match. */
  readonly k: number
  readonly filter?: SearchFilter | undefined
}

export function passageText({ title, text }: Pick<Passage, 'title' | 'text'>): string {
  return title === '' ? text : `${title} ${text}`
}
