import type { Passage } from '../../index/contract.ts'
import { readPassageFile } from '../../index/read/read.ts'

/** The valid passages of a file, and those of each title; both in the order of the file. */
export async function readCorpus(file: string) {
  const passages: Passage[] = []
  const byTitle = new Map<string, Passage[]>()
  for await (const item of readPassageFile(file)) {
    if (!('passage' in item)) continue
    passages.push(item.passage)
    const known = byTitle.get(item.passage.title)
    if (known) known.push(item.passage)
    else byTitle.set(item.passage.title, [item.passage])
  }
  return { passages, byTitle }
}
