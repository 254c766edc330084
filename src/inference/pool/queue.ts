/** Work that waits: questions ahead of bulk work, each kind first come, first served. */
export type Priority = 'question' | 'bulk'

export interface WaitingQueue<Entry> {
  push(entry: Entry, priority: Priority): void
  /** The entry whose turn it is, taken out. */
  shift(): Entry | undefined
  /** Takes one entry out wherever it stands; false where it does not wait. */
  remove(entry: Entry): boolean
  /** Takes everything out, in order. */
  clear(): Entry[]
  size(priority: Priority): number
}

export function createQueue<Entry>(): WaitingQueue<Entry> {
  // Sets keep insertion order and let an abandoned entry leave in constant time.
  const lanes = { question: new Set<Entry>(), bulk: new Set<Entry>() }
  return {
    push: (entry, priority) => void lanes[priority].add(entry),
    shift: () => {
      const lane = lanes.question.size > 0 ? lanes.question : lanes.bulk
      for (const entry of lane) {
        lane.delete(entry)
        return entry
      }
      return undefined
    },
    remove: (entry) => lanes.question.delete(entry) || lanes.bulk.delete(entry),
    clear: () => {
      const entries = [...lanes.question, ...lanes.bulk]
      lanes.question.clear()
      lanes.bulk.clear()
      return entries
    },
    size: (priority) => lanes[priority].size,
  }
}
