import { storeOf, within } from '../store/store-of.ts'
import { tableOf } from './alias.ts'
import type { Table } from '../table/lance.ts'

/** A reader may be at a version for a moment after it was replaced: this is far longer than it takes to notice. */
const STALE_READ_MS = 10_000

type Stored = Pick<Table, 'dir' | 'storedAs'>

/** When long reads of this process began, by stored table. */
const ownPins = new Map<string, Set<{ readonly at: number }>>()

function keyOf({ dir, storedAs }: Stored): string {
  return `${dir}\n${storedAs}`
}

function folderOf({ dir, storedAs }: Stored): string {
  return within(dir, `${tableOf(storedAs)}.readings`)
}

/**
 * For a read that may take longer than files are kept: no process removes any that the table has now, until the function that it
 * returns is called or this process has ended. In an object store, and in a folder that this process cannot write, only this one keeps them.
 */
export async function pinForReading(table: Stored): Promise<() => Promise<void>> {
  const key = keyOf(table)
  const mine = { at: Date.now() - STALE_READ_MS }
  const all = ownPins.get(key) ?? new Set()
  ownPins.set(key, all.add(mine))
  const release = await storeOf(table.dir).marks.put(folderOf(table), `${table.storedAs}~${mine.at}`)
  return async () => {
    all.delete(mine)
    if (all.size === 0 && ownPins.get(key) === all) ownPins.delete(key)
    await release()
  }
}

/** When the reads of a stored table began that are going on in any process. */
async function readPins(table: Stored): Promise<number[]> {
  const own = [...(ownPins.get(keyOf(table)) ?? [])].map(({ at }) => at)
  const found = (await storeOf(table.dir).marks.list(folderOf(table))).map((name) => name.split('~'))
  return [...own, ...found.flatMap(([storedAs, at]) => (storedAs === table.storedAs ? [Number(at)] : []))]
}

/** True while any process reads a stored table for long. */
export async function hasReadPins(table: Stored): Promise<boolean> {
  return (await readPins(table)).length > 0
}

/** How long replaced files of a table are kept while it is being read, in milliseconds: at least `keepMs`. */
export async function retentionMs(table: Stored, keepMs: number): Promise<number> {
  const now = Date.now()
  return Math.max(keepMs, ...(await readPins(table)).map((at) => now - at))
}
