import { storeOf, within } from '../store/store-of.ts'
import { tableOf } from './alias.ts'
import type { Table } from '../table/lance.ts'

/** A reader may use a version for a moment after it was replaced: this is far longer than it takes to notice. */
const STALE_READ_MS = 10_000

type Stored = Pick<Table, 'dir' | 'storedAs'>

/** Long reads of this process, with their start times. */
const ownPins = new Set<Stored & { readonly at: number }>()

function folderOf({ dir, storedAs }: Stored): string {
  return within(dir, `${tableOf(storedAs)}.readings`)
}

/**
 * Pins the table's present files for a long read: no process removes them until the pin is disposed of or this process has ended.
 * In an object store, or in a folder without write permission, only this process honours it.
 */
export async function pinForReading({ dir, storedAs }: Stored): Promise<AsyncDisposable> {
  const mine = { dir, storedAs, at: Date.now() - STALE_READ_MS }
  ownPins.add(mine)
  const release = await storeOf(dir).marks.put(folderOf(mine), `${storedAs}~${mine.at}`)
  return {
    [Symbol.asyncDispose]: async () => {
      ownPins.delete(mine)
      await release()
    },
  }
}

/** Start times of the long reads of a stored table, of all processes. */
async function readPins({ dir, storedAs }: Stored): Promise<number[]> {
  const own = [...ownPins].filter((pin) => pin.dir === dir && pin.storedAs === storedAs).map(({ at }) => at)
  const found = (await storeOf(dir).marks.list(folderOf({ dir, storedAs }))).map((name) => name.split('~'))
  return [...own, ...found.flatMap(([pinned, at]) => (pinned === storedAs ? [Number(at)] : []))]
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
