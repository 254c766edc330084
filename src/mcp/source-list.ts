import type { PassageIndex } from '../../index/passage-index.ts'

export interface SourceCount {
  /** Empty for passages without one. */
  readonly source: string
  readonly passages: number
}

/** Passages of each source, most first. */
export type SourceList = () => Promise<readonly SourceCount[]>

/** How long a list is given again although the table has changed: counting reads a column of all of it. */
const KEEP_MS = 60_000

/**
 * The sources of an index. Counted once for a version of the table, at most once a minute, and once for all who ask at the same time:
 * however often it is called, one scan runs at most.
 */
export function sourceList(index: Pick<PassageIndex, 'sources' | 'version'>, now: () => number = Date.now): SourceList {
  let counted: { readonly version: string; readonly at: number; readonly sources: Promise<readonly SourceCount[]> } | undefined
  return async () => {
    const { table, version, passages } = await index.version()
    const key = `${table}/${version}/${passages}`
    if (counted !== undefined && (counted.version === key || now() - counted.at < KEEP_MS)) return counted.sources
    const sources = index.sources()
    const own = { version: key, at: now(), sources }
    counted = own
    // What failed is tried again by the next call.
    sources.catch(() => (counted = counted === own ? undefined : counted))
    return sources
  }
}
