/** Columns of a passage, for `select`. */
export const PASSAGE_COLUMNS = ['id', 'title', 'text', 'source', 'metadata'] as const

/** Columns of the full-text search. */
export const TEXT_COLUMNS = ['text', 'title'] as const
