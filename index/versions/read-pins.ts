import { keptOrMade } from '../../base/at.ts'
import { storeOf, within } from '../store/store-of.ts'
import { tableOf } from './alias.ts'
import type { Table } from '../table/lance.ts'

/** A reader may use a version for a moment after it was replaced: this is far longer than it takes to notice. */
const STALE_READ_MS = 10_000

type Stored = Pick<Table, 'dir' | 'storedAs'>

/** Start times of long reads of this process, by stored table. */
const ownPins = new Map<string, Set<{ readonly at: number }>>()

function keyOf({ dir, storedAs }: Stored): string {
  return `${dir}\n${storedAs}`
}

function folderOf({ dir, storedAs }: Stored): string {
  return within(dir, `${tableOf(storedAs)}.readings`)
}

/**
 * Pins the table's present files for a long read: no process removes them until the pin is disposed of or this process has ended.
 * In an object store, or in a folder without write permission, only this process honours it.
 */
export async function pinForReading(table: Stored): Promise<AsyncDisposable> {
  const key = keyOf(table)
  const mine = { at: Date.now() - STALE_READ_MS }
  const all = keptOrMade(ownPins, key, () => new Set()).add(mine)
  const release = await storeOf(table.dir).marks.put(folderOf(table), `${table.storedAs}~${mine.at}`)
  return {
    [Symbol.asyncDispose]: async () => {
      all.delete(mine)
      if (all.size === 0 && ownPins.get(key) === all) ownPins.delete(key)
      await release()
    },
  }
}

/** Start times of the long reads of a stored table, of all processes. */
async function readPins(table: Stored): Promise<number[]> {
  const own = [...(ownPins.get(keyOf(table)) ?? [])].map(({ at }) => at)
  const found = (await storeOf(table.dir).marks.list(folderOf(table))).map((name) => name.split('~'))
  return [...own, ...found.flatMap(([storedAs, at]) => (storedAs === table.storedAs ? [Number(at)] : []))]
}

/** True while any process has a long read of a stored table. */
export async function hasReadPins(table: Stored): Promise<boolean> {
  return (await readPins(table)).length > 0
}

/** Retention of replaced files of a table, in milliseconds: at least `keepMs`, longer while it is pinned. */
export async function retentionMs(table: Stored, keepMs: number): Promise<number> {
  const now = Date.now()
  return Math.max(keepMs, ...(await readPins(table)).map((at) => now - at))
}
