/** One unit of retrieval: about a hundred words of a document. */
export interface Passage {
  readonly id: string
  readonly title: string
  readonly text: string
  /** Where the passage came from (a file's name, a URL), if the source said so. Usable as a filter. */
  readonly source?: string
}

/** A passage found for a query. */
export interface SearchHit extends Passage {
  /** Dot product of query and passage embedding (Contriever is trained without normalisation). */
  readonly score: number
  /** 1 for the best. */
  readonly rank: number
}

/**
 * Embeds texts with the model that the index was made with; one vector of `dimension` numbers per text, in order.
 * Passages are embedded as "title text" (Contriever's own indexing script), questions as they are.
 */
export type Embed = (texts: readonly string[], signal?: AbortSignal) => Promise<Float32Array[]>

/** Allow-listed conditions on a search; all must hold. */
export interface SearchFilter {
  readonly source?: string | readonly string[]
  readonly title?: string | readonly string[]
}
