import { randomUUID } from 'node:crypto'
import { mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { osCode } from '../../base/errors.ts'
import { processTag, stateOf } from '../../base/locks/process.ts'
import { isRemote, within } from '../store/location.ts'
import { namesIn } from '../store/tree.ts'
import { tableOf } from './alias.ts'
import type { Table } from '../table/lance.ts'

/** A reader may be at a version for a moment after it was replaced: this is far longer than it takes to notice. */
const STALE_READ_MS = 10_000
/** A reader on another machine or in another container shows that it lives; after so long without it is taken for dead. Clocks may differ by minutes. */
const HEARTBEAT_MS = 30_000
const SILENT_MS = 10 * 60_000

type Stored = Pick<Table, 'dir' | 'storedAs'>

/** When long reads of this process began, by stored table. */
const ownPins = new Map<string, Set<{ readonly at: number }>>()

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
export async function pinForReading(table: Stored): Promise<() => Promise<void>> {
  const key = keyOf(table)
  const mine = { at: Date.now() - STALE_READ_MS }
  const all = ownPins.get(key) ?? new Set()
  ownPins.set(key, all.add(mine))
  const path = isRemote(table.dir) ? undefined : await writePin(table, mine.at)
  const beat = setInterval(() => {
    if (path !== undefined) utimes(path, new Date(), new Date()).catch(() => undefined)
  }, HEARTBEAT_MS).unref()
  return async () => {
    clearInterval(beat)
    all.delete(mine)
    if (all.size === 0 && ownPins.get(key) === all) ownPins.delete(key)
    if (path !== undefined) await rm(path, { force: true }).catch(() => undefined)
  }
}

async function writePin(table: Stored, at: number): Promise<string | undefined> {
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
async function readPins(table: Stored): Promise<number[]> {
  const own = [...(ownPins.get(keyOf(table)) ?? [])].map(({ at }) => at)
  if (isRemote(table.dir)) return own
  const folder = folderOf(table)
  const found: number[] = []
  for (const name of await namesIn(folder)) {
    const [, storedAs, at, tag = ''] = ENTRY.exec(name) ?? []
    if (storedAs !== table.storedAs) continue
    const path = join(folder, name)
    if (await isPinHeld(path, tag)) found.push(Number(at))
    else await rm(path, { force: true })
  }
  return [...own, ...found]
}

async function isPinHeld(path: string, tag: string): Promise<boolean> {
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
export async function hasReadPins(table: Stored): Promise<boolean> {
  return (await readPins(table)).length > 0
}

/** How long replaced files of a table are kept while it is being read, in milliseconds: at least `keepMs`. */
export async function retentionMs(table: Stored, keepMs: number): Promise<number> {
  const now = Date.now()
  return Math.max(keepMs, ...(await readPins(table)).map((at) => now - at))
}
