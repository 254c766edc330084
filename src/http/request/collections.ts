import type { FastifyRequest } from 'fastify'
import {
  collectionPage,
  type CollectionPage,
  type Collections,
  type PageRange,
  unknownCollection,
} from '../../../index/collections/contract.ts'
import type { PassageIndex } from '../../../index/passage-index.ts'
import type { AnswerServices, FileLink } from '../../rag/pipeline.ts'

type Asker = Pick<FastifyRequest, 'holder'>

/** The collections as far as whoever sent a request may use them. */
export interface CollectionAccess {
  /** The collection that a request means where it names none: the first of its key's, where that may not use the service's; undefined for the service's. */
  implied(request: Asker): string | undefined
  mayUse(request: Asker, name: string): boolean
  /** @throws unknown_collection for one that is not there, and for one that the request's key may not use; what opening it throws */
  index(request: Asker, name?: string): Promise<PassageIndex>
  /** Those that a request may use. */
  page(request: Asker, range: PageRange): Promise<CollectionPage>
  /** What answers a request, from the collections that it may use. */
  answering(request: Asker): AnswerServices
}

/** @param answering over the main collection */
export function collectionAccess(answering: AnswerServices, collections: Collections): CollectionAccess {
  const main = collections.main.table
  const mayUse = ({ holder }: Asker, name: string): boolean => holder?.collections?.includes(name) ?? true
  const implied = (request: Asker): string | undefined => (mayUse(request, main) ? undefined : request.holder?.collections?.[0])
  const index = async (request: Asker, name = implied(request) ?? main): Promise<PassageIndex> => {
    if (!mayUse(request, name)) throw unknownCollection(name)
    return collections.open(name)
  }
  return {
    implied,
    mayUse,
    index,
    page: (request, range) =>
      collectionPage(collections, { meant: implied(request) ?? main, mayUse: (name) => mayUse(request, name) }, range),
    answering: (request) => {
      const { retriever, fileOf } = answering
      const collection = (name: string) =>
        name === main && mayUse(request, name) ? Promise.resolve(retriever.index) : index(request, name)
      const own = implied(request)
      const isBound = request.holder?.collections !== undefined
      const link = fileOf && { fileOf: ((passage, other = own) => fileOf(passage, other, isBound)) satisfies FileLink }
      const named = { ...answering, retriever: { ...retriever, collection }, ...link }
      if (own === undefined) return named
      return {
        ...named,
        retriever: {
          ...named.retriever,
          index: {
            view: async () => (await index(request, own)).view(),
            titles: async (count) => (await index(request, own)).titles(count),
          },
        },
      }
    },
  }
}
