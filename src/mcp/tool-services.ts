import { LRUCache } from 'lru-cache'
import type { PassageIndex } from '../../index/passage-index.ts'
import { inCollection, type AnswerServices } from '../rag/pipeline.ts'
import type { ToolServices } from './contract.ts'

/** Minimum interval between counts of a changing table: counting reads a whole column. */
const KEEP_MS = 60_000
/** Maximum collections with a cached source list. */
const MOST_LISTS = 16

type SourceList = PassageIndex['sources']

/** Returns the source list of each index, cached across calls. @param keepMs minimum interval between counts of a changing table */
export function sourceLists(keepMs = KEEP_MS): (index: PassageIndex) => SourceList {
  const lists = new LRUCache<string, SourceList, PassageIndex>({
    max: MOST_LISTS,
    memoMethod: (_table, _stale, { context: index }) => sourceList(index, Date.now, keepMs),
  })
  return (index) => lists.memo(index.table, { context: index })
}

/**
 * Lists the sources of an index. Counts once per version of the stored table and at most once a minute, except that another table under the
 * name is counted at once; concurrent calls share one scan.
 */
export function sourceList(index: Pick<PassageIndex, 'sources' | 'info'>, now: () => number = Date.now, keepMs = KEEP_MS): SourceList {
  let counted:
    | { readonly storedAs: string; readonly version: number; readonly at: number; readonly sources: ReturnType<SourceList> }
    | undefined
  return async () => {
    const { storedAs, version } = await index.info()
    if (counted?.storedAs === storedAs && (counted.version === version || now() - counted.at < keepMs)) return counted.sources
    const sources = index.sources()
    const own = { storedAs, version, at: now(), sources }
    counted = own
    // The next call retries after a failure.
    sources.catch(() => (counted = counted === own ? undefined : counted))
    return sources
  }
}

export interface CollectionSources {
  /** Services for answering; their default is the caller's default collection. */
  readonly answering: AnswerServices
  /** @throws unknown_collection */
  readonly index: (name?: string) => Promise<PassageIndex>
  readonly list: ToolServices['collections']
}

/** Returns a function that creates the services of a call. Source lists are cached across calls. */
export function toolServices(): (from: CollectionSources, collection?: string) => Promise<ToolServices> {
  const sourcesOf = sourceLists()
  return async ({ answering, index: open, list }, collection) => {
    const index = await open(collection)
    return { answering: await inCollection(answering, collection), index, sources: sourcesOf(index), collections: list }
  }
}
