import type { FastifyRequest } from 'fastify'
import {
  collectionPage,
  type CollectionPage,
  type Collections,
  type PageRange,
  unknownCollection,
} from '../../../index/collections/contract.ts'
import type { PassageIndex } from '../../../index/passage-index.ts'
import type { AnswerServices } from '../../rag/pipeline.ts'

type Asker = Pick<FastifyRequest, 'holder'>

/** The collections as far as whoever sent a request may use them. */
export type CollectionAccess = ReturnType<typeof collectionAccess>

/** @param answering over the main collection */
export function collectionAccess(answering: AnswerServices, collections: Collections) {
  const main = collections.main.table
  const mayUse = ({ holder }: Asker, name: string): boolean => holder?.collections?.includes(name) ?? true
  /** The collection of a request that names none: the first of its key's, if that may not use the service's; undefined for the service's. */
  const implied = (request: Asker): string | undefined => (mayUse(request, main) ? undefined : request.holder?.collections?.[0])
  /** @throws unknown_collection for one that is not there, and for one that the request's key may not use; what opening it throws */
  const index = async (request: Asker, name = implied(request) ?? main): Promise<PassageIndex> => {
    if (!mayUse(request, name)) throw unknownCollection(name)
    return collections.open(name)
  }
  const page = (request: Asker, range: PageRange): Promise<CollectionPage> =>
    collectionPage(collections, { meant: implied(request) ?? main, mayUse: (name) => mayUse(request, name) }, range)
  /** What answers a request, from the collections that it may use. */
  const services = (request: Asker): AnswerServices => {
    const { retriever, fileOf } = answering
    const own = implied(request)
    const isBound = request.holder?.collections !== undefined
    const view = {
      view: async () => (await index(request, own)).view(),
      titles: async (count: number) => (await index(request, own)).titles(count),
    }
    return {
      ...answering,
      retriever: {
        ...retriever,
        collection: (name) => (name === main && mayUse(request, name) ? Promise.resolve(retriever.index) : index(request, name)),
        ...(own !== undefined && { index: view }),
      },
      ...(fileOf && { fileOf: (passage, other = own) => fileOf(passage, other, isBound) }),
    }
  }
  return { implied, mayUse, index, page, answering: services }
}
