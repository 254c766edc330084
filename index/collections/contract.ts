import { CodedError } from '../../base/errors.ts'
import type { PassageIndex } from '../passage-index.ts'
import type { WordLanguage } from '../word-languages.ts'

export interface PageRange {
  /** Name after which the page begins. */
  readonly after?: string | undefined
  readonly limit: number
}

/**
 * Returns a page of the collections that a caller may use, sorted by name. Describes only those of the page.
 * @param meant the caller's default collection
 * @returns `next`: last name of the page; undefined if no collection follows
 */
export async function collectionPage(
  collections: Pick<Collections, 'names' | 'describe'>,
  { meant, mayUse = () => true }: { readonly meant: string; readonly mayUse?: (name: string) => boolean },
  { after = '', limit }: PageRange,
) {
  const mine = (await collections.names()).filter((name) => name > after && mayUse(name))
  const names = mine.slice(0, limit)
  const found = (await collections.describe(names)).map((info) => ({ ...info, default: info.name === meant }))
  return { collections: found, next: names.length < mine.length ? names.at(-1) : undefined }
}
export type CollectionPage = Awaited<ReturnType<typeof collectionPage>>

/**
 * ready: searchable. incompatible: its vectors are of a model that is not loaded, or it was written by other software. missing: it has no
 * table yet (default collection only). unavailable: it cannot be read now.
 */
export const COLLECTION_STATES = ['ready', 'incompatible', 'missing', 'unavailable'] as const

export interface CollectionInfo {
  readonly name: string
  /** Undefined if it cannot be read. */
  readonly passages: number | undefined
  readonly state: (typeof COLLECTION_STATES)[number]
  /** Why this process does not search it. */
  readonly problem: CodedError | undefined
}

/** The tables of an index by name. A table is a collection, and is opened on first use. */
export interface Collections {
  /** The default collection, open for the lifetime of the process. */
  readonly main: PassageIndex
  /** Number of open collections, including the main one. */
  readonly opened: number
  /**
   * Returns a collection by name. Valid for the lifetime of the process: it is closed while unused and opened again on use.
   * @throws unknown_collection; errors of opening it
   */
  open(name: string): Promise<PassageIndex>
  /** Like `open`, for a collection that may be created later: each call checks whether it exists. */
  later(name: string): PassageIndex
  /** All names, sorted, including the main one's even if it has no table yet. */
  names(): Promise<string[]>
  /** Describes some collections. An unreadable one has the state `unavailable`. */
  describe(names: readonly string[]): Promise<CollectionInfo[]>
  /**
   * Creates an empty collection.
   * @param language of its word index; by default the one that most texts are in when words are indexed
   * @returns false if it exists
   * @throws unprocessable beyond the limit; conflict if it exists in another language
   */
  create(name: string, language?: WordLanguage): Promise<boolean>
  /** @throws conflict if the collection exists in another language */
  checkLanguage(name: string, language: WordLanguage): Promise<void>
  /**
   * Creates or replaces a collection with a copy of another one, atomically. Both change independently afterwards.
   * @returns false if it existed
   * @throws unknown_collection; conflict while an index job runs; index_invalid
   */
  copy(name: string, of: string): Promise<boolean>
  /** Removes a collection and its snapshots. @throws unknown_collection; conflict for the main one, and while it has an unfinished job */
  remove(name: string): Promise<void>
  /** Completes removals that an earlier process began. */
  finishRemovals(): Promise<void>
  /** Closes all collections, including the main one. */
  close(): void
}

/** The same error for a missing collection and one that the caller may not use, so that names are not disclosed. */
export function unknownCollection(name: string, field = 'collection'): CodedError {
  const shown = name.slice(0, 64)
  const message = `There is no collection "${shown}": GET /v1/collections lists those that you may use, and an admin makes it with PUT /v1/collections/${shown}, or with \`cepe index add <file> --collection ${shown}\`.`
  return new CodedError('unknown_collection', message, { field })
}
