import type { PassageIndex } from '../../index/passage-index.ts'
import { inCollection } from '../rag/collection.ts'
import type { AnswerServices } from '../rag/pipeline.ts'
import type { ToolServices } from './contract.ts'
import { sourceList, type SourceList } from './source-list.ts'

/** Maximum collections with a cached source list. */
const MOST_LISTS = 16

export interface CollectionSources {
  /** Services for answering; their default is the caller's default collection. */
  readonly answering: AnswerServices
  /** @throws unknown_collection */
  readonly index: (name?: string) => Promise<PassageIndex>
  readonly list: ToolServices['collections']
}

/** Returns a function that creates the services of a call. Source lists are cached across calls. */
export function toolServices(): (from: CollectionSources, collection?: string) => Promise<ToolServices> {
  const lists = new Map<string, SourceList>()
  const sourcesOf = (index: PassageIndex): SourceList => {
    const list = lists.get(index.table) ?? sourceList(index)
    lists.delete(index.table)
    lists.set(index.table, list)
    const [oldest] = lists.keys()
    if (lists.size > MOST_LISTS && oldest !== undefined) lists.delete(oldest)
    return list
  }
  return async ({ answering, index: open, list }, collection) => {
    const index = await open(collection)
    return { answering: await inCollection(answering, collection), index, sources: sourcesOf(index), collections: list }
  }
}
