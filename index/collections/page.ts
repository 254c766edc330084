import type { CollectionInfo, Collections } from './contract.ts'

/** Range of a page. */
export interface PageRange {
  /** Name after which the page begins. */
  readonly after?: string | undefined
  readonly limit: number
}

/** A page of collections, sorted by name. */
export interface CollectionPage {
  readonly collections: readonly (CollectionInfo & { readonly default: boolean })[]
  /** Last name of the page; undefined if no collection follows. */
  readonly next: string | undefined
}

/**
 * Returns a page of the collections that a caller may use. Describes only those of the page.
 * @param meant the caller's default collection
 */
export async function collectionPage(
  collections: Pick<Collections, 'names' | 'describe'>,
  { meant, mayUse = () => true }: { readonly meant: string; readonly mayUse?: (name: string) => boolean },
  { after = '', limit }: PageRange,
): Promise<CollectionPage> {
  const mine = (await collections.names()).filter((name) => name > after && mayUse(name))
  const names = mine.slice(0, limit)
  const found = (await collections.describe(names)).map((info) => ({ ...info, default: info.name === meant }))
  return { collections: found, next: names.length < mine.length ? names.at(-1) : undefined }
}
