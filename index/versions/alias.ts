import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { at } from '../../base/at.ts'
import { CodedError, invalidIndex, invalidRequest } from '../../base/errors.ts'
import type { TableLocation } from '../contract.ts'
import { bytesUnder, storeOf, within } from '../store/store-of.ts'
import { TABLE_NAME } from '../table-name.ts'

/**
 * A value per table name that points at the stored table serving it. A rebuild is written to a table of its own and goes live by one write
 * of this value, under the writer lock.
 */
const AliasSchema = Type.Object({ stored_as: Type.String({ pattern: '^[\\w-]+(\\.[\\w-]+)?$' }) })

/** @throws invalid_request for an invalid table name */
export function checkTableName(name: string): string {
  if (new RegExp(TABLE_NAME).test(name)) return name
  const problem = `"${name.slice(0, 80)}" is not a valid table name: use 1 to 64 letters, digits, "-" and "_", a letter first.`
  throw invalidRequest('table', problem)
}

export function aliasPath({ dir, table }: TableLocation): string {
  return within(dir, `${checkTableName(table)}.alias.json`)
}

/** Creates a name for a stored table: the alias and a unique part. */
export function storedName(table: string, unique: string = randomUUID().slice(0, 8)): string {
  return `${checkTableName(table)}.${unique}`
}

/** The alias of a stored table. */
export function tableOf(storedAs: string): string {
  return at(storedAs.split('.'), 0)
}

/** Names of all stored tables of a table: the live one, replaced ones, and those that jobs build. */
export async function storedTables({ dir, table }: TableLocation): Promise<string[]> {
  const names = await storeOf(dir).files.list(dir)
  return names.filter((name) => name.startsWith(`${table}.`) && name.endsWith(LANCE)).map((name) => name.slice(0, -LANCE.length))
}
const LANCE = '.lance'

export function tableFolder(dir: string, storedAs: string): string {
  return within(dir, storedAs + LANCE)
}

/** Folder of a table's snapshots. */
export function snapshotsFolder({ dir, table }: TableLocation): string {
  return within(dir, `${checkTableName(table)}.snapshots`)
}

/** Folder of the change logs of a table's jobs, by their ids. */
export function changesFolder({ dir, table }: TableLocation): string {
  return within(dir, `${checkTableName(table)}.changes`)
}

/** Present while a table is removed: its stored tables no longer count. */
export function removalMark({ dir, table }: TableLocation): string {
  return within(dir, `${table}${REMOVING}`)
}
export const REMOVING = '.removing'

export const SNAPSHOT_RECORD = 'snapshot.json'
/** Name of the stored table within a snapshot's folder. */
export const SNAPSHOT_TABLE = 'snapshot'

/** The aliases that this process has found in an index, and the identity of the folder that held them. */
const found = new Map<string, { readonly identity: string | undefined; readonly aliases: Map<string, string> }>()

/** The value of an alias; undefined if there is none, null for a damaged one and that of another name. */
async function aliasValue(location: TableLocation): Promise<string | null | undefined> {
  const value = await storeOf(location.dir).values.read(aliasPath(location))
  if (value === undefined) return undefined
  return Value.Check(AliasSchema, value) && tableOf(value.stored_as) === location.table ? value.stored_as : null
}

/** Whether a folder, of that identity now, has taken the place of the one in which this process found tables, and holds none of them. */
async function isReplaced(dir: string, now: string | undefined): Promise<boolean> {
  const { identity, aliases = new Map<string, string>() } = found.get(dir) ?? {}
  if (identity === undefined || aliases.size === 0 || now === identity) return false
  for (const [table, storedAs] of aliases) if ((await aliasValue({ dir, table })) === storedAs) return false
  return true
}

/**
 * The stored table behind a name; undefined if there is none, or if the index was replaced by another one: its folder was unmounted, and an
 * index made in its place.
 * @throws index_invalid for a damaged alias, or that of another name: a change by it would change the other table
 */
export async function readAlias(location: TableLocation): Promise<string | undefined> {
  const { dir, table } = location
  const storedAs = await aliasValue(location)
  if (storedAs === undefined) return undefined
  const identity = await storeOf(dir).files.identity(dir)
  if (await isReplaced(dir, identity)) return undefined
  if (storedAs !== null) {
    const { aliases = new Map<string, string>() } = found.get(dir) ?? {}
    found.set(dir, { identity, aliases: aliases.set(table, storedAs) })
    return storedAs
  }
  const path = aliasPath(location)
  const message = `${path} is damaged: its value should be {"stored_as": "<a folder next to it that begins with ${table}., without .lance>"}.`
  throw invalidIndex(path, message)
}

/** Error for stored tables with passages that neither an alias nor a job nor a removal refers to; undefined if there are none. */
export async function namelessTables(location: TableLocation): Promise<CodedError | undefined> {
  const { dir, table } = location
  const { files, logs } = storeOf(dir)
  const ofJobs = (await logs.names(changesFolder(location))).map((job) => storedName(table, job))
  for (const storedAs of await storedTables(location)) {
    if (ofJobs.includes(storedAs) || (await bytesUnder(within(tableFolder(dir, storedAs), 'data'))) === 0) continue
    if ((await files.read(removalMark(location))) !== undefined) return undefined
    const file = `${table}.alias.json`
    const message = `${file} is missing, and ${storedAs}${LANCE} in ${dir} has passages: if the file was lost, restore it, as {"stored_as": "${storedAs}"}; if that folder is the rest of an interrupted copy, remove it. \`cepe index add --replace <file> --collection ${table}\` begins a new collection.`
    return invalidIndex(file, message)
  }
  return undefined
}

/** Error for a table without an alias that must have had one; undefined if there was none. */
export async function lostTable(location: TableLocation): Promise<CodedError | undefined> {
  const { dir, table } = location
  const isAnother = await isReplaced(dir, await storeOf(dir).files.identity(dir))
  const nameless = isAnother ? undefined : await namelessTables(location)
  if (nameless !== undefined || found.get(dir)?.aliases.has(table) !== true) return nameless
  const instead = isAnother
    ? 'a process that is started now takes the folder as it is'
    : `\`cepe index add --replace <file> --collection ${table}\` begins a new one`
  const message = `The collection "${table}" has disappeared from ${dir}: mount the folder again, or restore it from a backup; ${instead}.`
  return new CodedError('index_missing', message, { field: 'table' })
}

/**
 * Checks, before and after a change of an index, that its folder is the one in which this process found tables: an unmounted folder is
 * missing or empty, and what is written there disappears when it is mounted again.
 * @throws index_missing
 */
export async function checkFolder(dir: string): Promise<void> {
  if (!(await isReplaced(dir, await storeOf(dir).files.identity(dir)))) return
  const [table = ''] = found.get(dir)?.aliases.keys() ?? []
  throw await missingTable({ dir, table })
}

/** Checks that a table can be written; a table that was there before is only made by replacing it. @throws index_missing, index_invalid */
export async function checkTable(location: TableLocation, replace = false): Promise<void> {
  await checkFolder(location.dir)
  const lost = replace || (await readAlias(location)) !== undefined ? undefined : await lostTable(location)
  if (lost !== undefined) throw lost
}

/** The stored table behind a name. @throws index_missing */
export async function storedNameOf(location: TableLocation): Promise<string> {
  const storedAs = await readAlias(location)
  if (storedAs === undefined) throw await missingTable(location)
  return storedAs
}

/** Error for a table that is not there. */
export async function missingTable(location: TableLocation): Promise<CodedError> {
  const why = `There is no collection "${location.table}" in ${location.dir} yet: index a corpus, for instance with \`cepe index add <file> --collection ${location.table}\`.`
  return (await lostTable(location)) ?? new CodedError('index_missing', why, { field: 'table' })
}

/** @throws conflict if the writer lock was lost */
export async function writeAlias(location: TableLocation, storedAs: string): Promise<void> {
  const { dir, table } = location
  await storeOf(dir).values.write(aliasPath(location), { stored_as: storedAs })
  found.get(dir)?.aliases.set(table, storedAs)
}

/** Creates an alias; the caller holds the writer lock. @returns false if another process created one first */
export function createAlias(location: TableLocation, storedAs: string): Promise<boolean> {
  return storeOf(location.dir).values.create(aliasPath(location), { stored_as: storedAs })
}

/** Takes the name away; what is stored stays. To be called under the writer lock. */
export async function removeAlias({ dir, table }: TableLocation): Promise<void> {
  await storeOf(dir).values.remove(aliasPath({ dir, table }))
  found.get(dir)?.aliases.delete(table)
}

/** Milliseconds since the alias was last changed, at least; Infinity if it does not exist. */
export function aliasAge(location: TableLocation): Promise<number> {
  return storeOf(location.dir).values.age(aliasPath(location))
}

/** Changes whenever the alias points at another stored table, is removed or damaged. */
export async function aliasStamp(location: TableLocation): Promise<string> {
  return String(await aliasValue(location))
}
