import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { syncPath, writeFileDurably } from '../../base/durable.ts'
import { CodedError, osCode } from '../../base/errors.ts'
import { exists } from '../../base/exists.ts'
import { parseJson } from '../../base/json.ts'
import { checkTableName, readAlias, tableFolder } from '../table/alias.ts'
import { connectLance } from '../table/lance.ts'
import { withLock } from '../../base/lock.ts'
import { readMetadata } from '../table/metadata.ts'
import { inTurn } from '../table/turn.ts'
import { cloneTable, ownBytes } from './clone.ts'
import { replaceWith, type ReplaceOptions, type TableOptions } from './replace.ts'
import { countedRows } from './verify.ts'

const WAIT_MS = 60_000
/** Name of the stored table in a snapshot's folder. */
const STORED_AS = 'snapshot'

const SnapshotSchema = Type.Object({
  name: Type.String(),
  table: Type.String(),
  created_at: Type.String(),
  rows: Type.Integer(),
  model: Type.String(),
})
export type Snapshot = Static<typeof SnapshotSchema>

function snapshotsFolder({ dir, table }: TableOptions): string {
  return join(dir, `${checkTableName(table)}.snapshots`)
}

function snapshotFolder(options: TableOptions, name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name))
    throw new CodedError('invalid_request', `"${name.slice(0, 80)}" is no name of a snapshot: use 1 to 64 letters, digits, "-" and "_".`, {
      field: 'name',
    })
  return join(snapshotsFolder(options), name)
}

/**
 * Keeps the table as it is now under a name of its own. Its files are shared with the live table, so that it takes no space
 * at first, and later what the live table has replaced since.
 * @throws conflict where there is one of that name; index_missing, disk_full
 */
export async function createSnapshot(name: string, options: TableOptions): Promise<Snapshot> {
  const folder = snapshotFolder(options, name)
  const { dir, table } = options
  return alone(options, async (aside) => {
    if (await exists(folder))
      throw new CodedError('conflict', `There is a snapshot "${name}" already: choose another name, or delete it first.`, { field: 'name' })
    const making = aside(name)
    await inTurn(dir, table, async () => {
      const storedAs = (await readAlias(dir, table))?.stored_as
      if (typeof storedAs !== 'string')
        throw new CodedError('index_missing', `There is no table "${table}" in ${dir}: nothing to keep.`, { field: 'table' })
      await cloneTable(tableFolder(dir, storedAs), tableFolder(making, STORED_AS))
    })
    const snapshot = { name, table, created_at: new Date().toISOString(), ...(await lookedThrough(making)) }
    await writeFileDurably(join(making, 'snapshot.json'), `${JSON.stringify(snapshot)}\n`)
    await rename(making, folder)
    await syncPath(snapshotsFolder(options))
    return snapshot
  })
}

/** All snapshots of a table, oldest first, each with the bytes that deleting it would free. */
export async function listSnapshots(options: TableOptions): Promise<(Snapshot & { readonly bytes: number })[]> {
  const names = await readdir(snapshotsFolder(options)).catch((error: unknown) => {
    if (osCode(error) === 'ENOENT') return []
    throw error
  })
  const found = await Promise.all(
    names
      .filter((name) => !name.startsWith('.'))
      .map(async (name) => ({ ...(await readSnapshot(name, options)), bytes: await ownBytes(snapshotFolder(options, name)) })),
  )
  return found.sort((a, b) => (a.created_at < b.created_at ? -1 : 1))
}

/**
 * Puts a snapshot into service in the place of the present table. The snapshot stays.
 * @returns the passages that are now in service.
 * @throws not_found; as `replaceWith`.
 */
export async function restoreSnapshot(name: string, options: ReplaceOptions): Promise<number> {
  await readSnapshot(name, options)
  return replaceWith((folder) => cloneTable(tableFolder(snapshotFolder(options, name), STORED_AS), folder), options)
}

/** @throws not_found */
export async function deleteSnapshot(name: string, options: TableOptions): Promise<void> {
  await readSnapshot(name, options)
  await alone(options, async (aside) => {
    const going = aside(name)
    await rename(snapshotFolder(options, name), going)
    await rm(going, { recursive: true, force: true })
  })
}

async function readSnapshot(name: string, options: TableOptions): Promise<Snapshot> {
  try {
    const value = parseJson(await readFile(join(snapshotFolder(options, name), 'snapshot.json'), 'utf8'))
    if (Value.Check(SnapshotSchema, value)) return value
  } catch (error) {
    if (osCode(error) === 'ENOENT')
      throw new CodedError(
        'not_found',
        `There is no snapshot "${name}" of the table "${options.table}"; cepe index snapshot list shows them.`,
        {
          field: 'name',
        },
      )
    throw error
  }
  throw new CodedError(
    'index_invalid',
    `The record of the snapshot "${name}" is damaged: its files are in ${snapshotFolder(options, name)}.`,
    {
      field: 'name',
    },
  )
}

/** Makes and removes snapshots one at a time. What killed processes left aside goes first. */
async function alone<T>(options: TableOptions, work: (aside: (name: string) => string) => Promise<T>): Promise<T> {
  const folder = snapshotsFolder(options)
  await mkdir(folder, { recursive: true })
  return withLock(join(folder, '.lock'), WAIT_MS, async () => {
    const sweep = async (): Promise<void> => {
      for (const name of await readdir(folder)) if (name.endsWith('.aside')) await rm(join(folder, name), { recursive: true, force: true })
    }
    await sweep()
    try {
      return await work((name) => join(folder, `.${name}.${randomUUID().slice(0, 8)}.aside`))
    } finally {
      await sweep()
    }
  })
}

async function lookedThrough(folder: string): Promise<Pick<Snapshot, 'rows' | 'model'>> {
  const connection = await connectLance(folder, 0)
  try {
    const table = await connection.openTable(STORED_AS)
    return { rows: await countedRows(table), model: (await readMetadata(table)).model }
  } finally {
    connection.close()
  }
}
