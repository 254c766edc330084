import { randomUUID } from 'node:crypto'
import { Type, type Static } from '#typebox'
import { Value } from '#typebox/value'
import { at } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import { storeOf, within } from '../store/store-of.ts'

/**
 * A value per table name that points at the stored table serving it. A rebuild is written to a table of its own and goes live by one write
 * of this value, under the writer lock.
 */
const AliasSchema = Type.Object({ stored_as: Type.String() })
export type Alias = Static<typeof AliasSchema>

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** @throws invalid_request for an invalid table name */
export function checkTableName(name: string): string {
  if (!NAME.test(name))
    throw new CodedError('invalid_request', `"${name.slice(0, 80)}" is not a valid table name: use 1 to 64 letters, digits, "-" and "_".`, {
      field: 'table',
    })
  return name
}

export function aliasPath(dir: string, table: string): string {
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

export function tableFolder(dir: string, storedAs: string): string {
  return within(dir, `${storedAs}.lance`)
}

/** Folder of a table's snapshots. */
export function snapshotsFolder(dir: string, table: string): string {
  return within(dir, `${checkTableName(table)}.snapshots`)
}
/** File name of a snapshot's record. */
export const SNAPSHOT_RECORD = 'snapshot.json'
/** Name of the stored table within a snapshot's folder. */
export const SNAPSHOT_TABLE = 'snapshot'

/** @throws index_invalid for a damaged one */
export async function readAlias(dir: string, table: string): Promise<Alias | undefined> {
  const path = aliasPath(dir, table)
  const value = await storeOf(dir).values.read(path)
  if (value === undefined || Value.Check(AliasSchema, value)) return value
  throw new CodedError('index_invalid', `${path} is damaged: it should read {"stored_as": "<a folder beside it, without .lance>"}.`, {
    field: path,
  })
}

/** @throws conflict if the writer lock was lost */
export function writeAlias(dir: string, table: string, alias: Alias): Promise<void> {
  return storeOf(dir).values.write(aliasPath(dir, table), alias)
}

/** Creates an alias; the caller holds the writer lock. @returns false if another process created one first */
export function createAlias(dir: string, table: string, alias: Alias): Promise<boolean> {
  return storeOf(dir).values.create(aliasPath(dir, table), alias)
}

/** Takes the name away; what is stored stays. To be called under the writer lock. */
export function removeAlias(dir: string, table: string): Promise<void> {
  return storeOf(dir).values.remove(aliasPath(dir, table))
}

/** Milliseconds since the alias was last changed, at least; Infinity if it does not exist. */
export function aliasAge(dir: string, table: string): Promise<number> {
  return storeOf(dir).values.age(aliasPath(dir, table))
}

/** Changes whenever the alias points at another stored table. */
export function aliasStamp(dir: string, table: string): Promise<string> {
  return storeOf(dir).values.stamp(aliasPath(dir, table))
}
