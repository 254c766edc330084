import type { AnswerServices } from '../../../src/rag/pipeline.ts'
import type { Passage } from '../../../index/contract.ts'
import { recordingServices } from '../../helpers/recording-services.ts'

/** Services that find the given passages, whatever is asked, and whose reader says the given text. */
export function saidServices(said: string, passages: readonly Passage[]): AnswerServices {
  const { services } = recordingServices({ found: passages.length })
  const { reader, retriever } = services
  const hits = passages.map((passage, i) => ({ ...passage, score: 10 - i, rank: i + 1 }))
  return {
    ...services,
    reader: { ...reader, answer: async (...args) => ({ ...(await reader.answer(...args)), text: said }) },
    retriever: {
      ...retriever,
      index: {
        view: async () => {
          const table = await retriever.index.view()
          return { ...table, search: (_vector, { k }) => Promise.resolve(hits.slice(0, k)), version: () => table.version() }
        },
      },
    },
  }
}
