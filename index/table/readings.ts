import { randomUUID } from 'node:crypto'
import { mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { osCode } from '../../base/errors.ts'
import { processTag, stateOf } from '../../base/process.ts'
import { isRemote, within } from '../store/place.ts'
import { namesIn } from '../store/tree.ts'
import { tableOf } from './alias.ts'
import type { Table } from './lance.ts'

/** A reader may be at a version for a moment after it was replaced: this is far longer than it takes to notice. */
const BEHIND_MS = 10_000
/** A reader on another machine or in another container shows that it lives; after so long without it is taken for dead. Clocks may differ by minutes. */
const BEAT_MS = 30_000
const SILENT_MS = 10 * 60_000

type Stored = Pick<Table, 'dir' | 'storedAs'>

/** When long reads of this process began, by stored table. */
const begun = new Map<string, Set<{ readonly at: number }>>()

function keyOf({ dir, storedAs }: Stored): string {
  return `${dir}\n${storedAs}`
}

/** `<stored table>~<time>~<process tag>~<unique>`: a file for every long read of any process. */
const ENTRY = /^([^~]+)~(\d+)~([0-9a-f-]+)~[0-9a-f-]+$/

function folderOf({ dir, storedAs }: Stored): string {
  return within(dir, `${tableOf(storedAs)}.readings`)
}

/**
 * For a read that may take longer than files are kept: no process removes any that the table has now, until the function that it
 * returns is called or this process has ended. In an object store, and in a folder that this process cannot write, only this one keeps them.
 */
export async function beginReading(table: Stored): Promise<() => Promise<void>> {
  const key = keyOf(table)
  const mine = { at: Date.now() - BEHIND_MS }
  const all = begun.get(key) ?? new Set()
  begun.set(key, all.add(mine))
  const path = isRemote(table.dir) ? undefined : await announced(table, mine.at)
  const beat = setInterval(() => {
    if (path !== undefined) utimes(path, new Date(), new Date()).catch(() => undefined)
  }, BEAT_MS).unref()
  return async () => {
    clearInterval(beat)
    all.delete(mine)
    if (all.size === 0 && begun.get(key) === all) begun.delete(key)
    if (path !== undefined) await rm(path, { force: true }).catch(() => undefined)
  }
}

async function announced(table: Stored, at: number): Promise<string | undefined> {
  const folder = folderOf(table)
  const path = join(folder, `${table.storedAs}~${at}~${await processTag()}~${randomUUID()}`)
  try {
    await mkdir(folder, { recursive: true })
    await writeFile(path, '', { flag: 'wx' })
    return path
  } catch {
    return undefined
  }
}

/** When the reads of a stored table began that are going on in any process. Takes away what dead ones have left. */
async function readings(table: Stored): Promise<number[]> {
  const own = [...(begun.get(keyOf(table)) ?? [])].map(({ at }) => at)
  if (isRemote(table.dir)) return own
  const folder = folderOf(table)
  const found: number[] = []
  for (const name of await namesIn(folder)) {
    const [, storedAs, at, tag = ''] = ENTRY.exec(name) ?? []
    if (storedAs !== table.storedAs) continue
    const path = join(folder, name)
    if (await isGoingOn(path, tag)) found.push(Number(at))
    else await rm(path, { force: true })
  }
  return [...own, ...found]
}

async function isGoingOn(path: string, tag: string): Promise<boolean> {
  const state = await stateOf(tag)
  if (state !== 'elsewhere') return state === 'alive'
  try {
    return Date.now() - (await stat(path)).mtimeMs < SILENT_MS
  } catch (error) {
    if (osCode(error) === 'ENOENT') return false
    throw error
  }
}

/** True while any process reads a stored table for long. */
export async function isBeingRead(table: Stored): Promise<boolean> {
  return (await readings(table)).length > 0
}

/** How long replaced files of a table are kept while it is being read, in milliseconds: at least `keepMs`. */
export async function keptMs(table: Stored, keepMs: number): Promise<number> {
  const now = Date.now()
  return Math.max(keepMs, ...(await readings(table)).map((at) => now - at))
}
