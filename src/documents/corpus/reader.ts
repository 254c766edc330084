import { DOCUMENT_LIMITS, type DocumentFile } from '../contract.ts'
import type { DocumentPassages } from '../passages/contract.ts'
import { documentType } from '../type.ts'
import { PassageProcess, type ProcessOptions } from './process.ts'

/** Processes that read files of one corpus. */
const PROCESSES = 2

export interface PassageReader {
  /** Files that are read at a time. */
  readonly atOnce: number
  /**
   * Cuts a file into passages, in a process of its own kind.
   * @param words of a passage
   * @throws DocumentError naming why the file is not read; the signal's reason once aborted
   */
  read(
    file: DocumentFile & { readonly name: string },
    options: { readonly words: number; readonly signal: AbortSignal },
  ): Promise<DocumentPassages>
  /** Ends the processes. */
  close(): void
}

/** For one corpus after another: the processes start with the first file, and read on until `close`. */
export function createPassageReader(options: ProcessOptions): PassageReader {
  const processes = Array.from({ length: PROCESSES }, () => new PassageProcess(options))
  const free = [...processes]
  const waiting: ((one: PassageProcess) => void)[] = []
  const take = async (): Promise<PassageProcess> => free.pop() ?? new Promise((resolve) => waiting.push(resolve))
  const giveBack = (one: PassageProcess): void => {
    const next = waiting.shift()
    if (next === undefined) free.push(one)
    else next(one)
  }
  return {
    atOnce: PROCESSES,
    read: async (file, { words, signal }) => {
      const type = documentType(file)
      const one = await take()
      try {
        const { bytes, name, mediaType } = file
        return await one.run({ type, bytes, mediaType, name, words, limits: DOCUMENT_LIMITS }, signal)
      } finally {
        giveBack(one)
      }
    },
    close: () => {
      for (const one of processes) one.close()
    },
  }
}
