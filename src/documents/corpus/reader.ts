import pLimit from 'p-limit'
import { DocumentPassagesSchema, type DocumentPassages } from '../schema.ts'
import { documentType, type DocumentFile } from '../type.ts'
import { ReadingProcess, type ProcessOptions } from './process.ts'

/** Pool of processes that parse the files of a corpus. */
const PROCESSES = 2

export type PassageReader = ReturnType<typeof createPassageReader>

/** Reusable for several corpora: processes start with the first file and run until `close`. */
export function createPassageReader(options: ProcessOptions) {
  const processes = Array.from({ length: PROCESSES }, () => new ReadingProcess(options))
  const free = [...processes]
  const limit = pLimit(PROCESSES)
  return {
    atOnce: PROCESSES,
    /**
     * Parses a file in a child process and cuts it into passages of so many words.
     * @throws DocumentError with the reason the file was rejected; the signal's reason once aborted
     */
    read: async (
      { bytes, name, mediaType, encoding }: DocumentFile & { readonly name: string },
      { words, signal }: { readonly words: number; readonly signal: AbortSignal },
    ): Promise<DocumentPassages> => {
      const type = documentType({ bytes, name, mediaType })
      return limit(async () => {
        const one = free.pop() ?? new ReadingProcess(options)
        const task = { type, bytes, mediaType, encoding, name, words }
        return one.run(task, DocumentPassagesSchema, signal).finally(() => free.push(one))
      })
    },
    close: () => {
      for (const one of processes) one.close()
    },
  }
}
