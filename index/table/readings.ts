import type { Table } from './lance.ts'

/** A reader may be at a version for a moment after it was replaced: this is far longer than it takes to notice. */
const BEHIND_MS = 10_000

/** When long reads of this process began, by stored table. */
const begun = new Map<string, Set<{ readonly at: number }>>()

function keyOf({ dir, storedAs }: Pick<Table, 'dir' | 'storedAs'>): string {
  return `${dir}\n${storedAs}`
}

/**
 * For a read that may take longer than files are kept: this process removes none that the table has now, until the function that it
 * returns is called.
 */
export function beginReading(table: Pick<Table, 'dir' | 'storedAs'>): () => void {
  const key = keyOf(table)
  const mine = { at: Date.now() - BEHIND_MS }
  const all = begun.get(key) ?? new Set()
  begun.set(key, all.add(mine))
  return () => {
    all.delete(mine)
    if (all.size === 0 && begun.get(key) === all) begun.delete(key)
  }
}

/** How long replaced files of a table are kept while it is being read, in milliseconds: at least `keepMs`. */
export function keptMs(table: Pick<Table, 'dir' | 'storedAs'>, keepMs: number): number {
  const now = Date.now()
  return Math.max(keepMs, ...[...(begun.get(keyOf(table)) ?? [])].map(({ at }) => now - at))
}
