import { unknownCollection } from '../../index/collections/contract.ts'
import type { AnswerServices } from './pipeline.ts'

/**
 * The same services over the collection that a request names; as they are where it names none.
 * @throws unknown_collection
 */
export async function inCollection<Services extends Pick<AnswerServices, 'retriever' | 'fileOf'>>(
  services: Services,
  name: string | undefined,
): Promise<Services> {
  if (name === undefined) return services
  const { retriever, fileOf } = services
  const index = await retriever.collection?.(name)
  if (index === undefined) throw unknownCollection(name)
  return { ...services, retriever: { ...retriever, index }, ...(fileOf && { fileOf: (passage) => fileOf(passage, name) }) }
}
