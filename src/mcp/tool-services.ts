import type { PassageIndex } from '../../index/passage-index.ts'
import { inCollection } from '../rag/collection.ts'
import type { AnswerServices } from '../rag/pipeline.ts'
import type { ToolServices } from './contract.ts'
import { sourceLists } from './source-list.ts'

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
